"""Shows each rule what it forbids, and its nearest neighbour that it allows."""

import unittest

from rules import Tree, check
from source_text import cxx_code, cxx_functions
from tidy import read_exceptions

BUILD_A = 'cc_library(srcs = ["a.cc", "a.h", "b.h"])'


def rules_broken(files, **tree):
    """The names of the rules that `files` break, besides the BUILD file they would need."""
    files = {"rcu/BUILD": BUILD_A, **files}
    return sorted({violation.rule for violation in check(Tree(files, **tree))})


class FunctionsOfCxx(unittest.TestCase):
    def test_comments_and_literals_are_blanked_and_lines_kept(self):
        code = cxx_code('int a; // {\nauto s = R"x(\n}")x"; char c = \'{\'; /* {\n */ int n = 1\'000;')
        self.assertEqual(code.count("\n"), 3)
        self.assertNotRegex(code, "[{}]")
        self.assertIn("int n = 1'000;", code)

    def test_a_body_is_found_with_its_head_wherever_it_stands(self):
        text = ("namespace a {\nstruct B : C {\n  void F(\n      int x) {\n    if (x) {\n    }\n  }\n"
                "  int y[2] = {1, 2};\n};\n}\n")
        self.assertEqual(cxx_functions(text), [(3, 7)])

    def test_a_class_with_attributes_is_no_function(self):
        text = "struct alignas(F(2)) [[gnu::packed(1)]] A {\n  void F() {\n  }\n};\n"
        self.assertEqual(cxx_functions(text), [(2, 3)])

    def test_braces_in_initializers_do_not_end_a_constructor(self):
        text = "B::B(int x)\n    : a_{x},\n      b_(x) {\n  F();\n}\n"
        self.assertEqual(cxx_functions(text), [(1, 5)])

    def test_directives_are_no_code(self):
        self.assertEqual(cxx_functions("#define F(x) { \\\n  g(x)\nvoid H() {\n}\n"), [(3, 4)])


class Sizes(unittest.TestCase):
    def test_a_file_of_601_lines(self):
        self.assertEqual(rules_broken({"rcu/a.cc": "\n" * 600}), [])
        self.assertEqual(rules_broken({"rcu/a.cc": "\n" * 601}), ["file-size"])

    def test_a_function_of_71_lines(self):
        self.assertEqual(rules_broken({"rcu/a.cc": "void F() {" + "\n" * 69 + "}"}), [])
        self.assertEqual(rules_broken({"rcu/a.cc": "void F() {" + "\n" * 70 + "}"}),
                         ["function-size"])

    def test_a_python_function_of_71_lines(self):
        self.assertEqual(rules_broken({"tests/a.py": "def f():\n" + "  g()\n" * 69}), [])
        self.assertEqual(rules_broken({"tests/a.py": "def f():\n" + "  g()\n" * 70}),
                         ["function-size"])


class Includes(unittest.TestCase):
    def check_include(self, path, header):
        folder, name = path.rsplit("/", 1)
        above, other = header.rsplit("/", 1)
        files = {f"{folder}/BUILD": f'"{name}"', path: f'#include "{header}"\n'}
        files[f"{above}/BUILD"] = f'"{other}" ' + files.get(f"{above}/BUILD", "")
        return rules_broken({**files, header: ""})

    def test_upwards(self):
        for path, header in [("rcu/a.cc", "sunrpc_auth/c.h"), ("nfsclient/vfs/a.cc", "nfsclient/nfs/c.h"),
                             ("nfsclient/walk/a.cc", "nfsclient/client.h"), ("nfsclient/a.cc", "tests/c.h"),
                             ("nfsclient/cli/a.cc", "bench/x/c.h")]:
            with self.subTest(path=path, header=header):
                self.assertEqual(self.check_include(path, header), ["include-direction"])

    def test_downwards(self):
        for path, header in [("sunrpc_auth/a.cc", "rcu/c.h"), ("nfsclient/a.cc", "nfsclient/nfs/c.h"),
                             ("nfsclient/cli/a.cc", "nfsclient/client.h"), ("bench/x/a.cc", "tests/c.h")]:
            with self.subTest(path=path, header=header):
                self.assertEqual(self.check_include(path, header), [])

    def test_a_header_that_is_not_there(self):
        self.assertEqual(rules_broken({"rcu/a.cc": '#include "b.h"\n', "rcu/b.h": ""}),
                         ["include-direction"])
        self.assertEqual(rules_broken({"rcu/a.cc": '#include "rcu/gone.h"\n'}), ["include-direction"])
        self.assertEqual(rules_broken({"rcu/a.cc": '// #include "rcu/gone.h"\n'}), [])

    def test_a_library_outside_its_home(self):
        home = {"nfsclient/protocol/BUILD": '"a.cc"', "tests/unit/nfsclient/protocol/BUILD": '"a.cc"'}
        text = "#include <nfsc/libnfs.h>\n"
        self.assertEqual(rules_broken({"rcu/a.cc": text}), ["library-home"])
        self.assertEqual(rules_broken({**home, "nfsclient/protocol/a.cc": text,
                                       "tests/unit/nfsclient/protocol/a.cc": text}), [])
        for header in ["rpc/rpc.h", "tirpc/rpc/rpc.h"]:
            self.assertEqual(rules_broken({"rcu/a.cc": f"#include <{header}>\n"}), ["library-home"])
        self.assertEqual(rules_broken({"bench/a.cc": "#include <urcu/urcu-memb.h>\n",
                                       "bench/BUILD": '"a.cc"'}), ["library-home"])


class LockFreeFiles(unittest.TestCase):
    RELAXED = "x.load(std::memory_order_relaxed);\n"
    ACQUIRE = "x.load(std::memory_order_acquire);\n"

    def test_only_listed_files_name_a_memory_order(self):
        self.assertEqual(rules_broken({"rcu/a.cc": self.RELAXED}), ["lockfree-list"])
        self.assertEqual(rules_broken({"rcu/a.cc": self.RELAXED}, lockfree_files=["rcu/a.cc"]), [])
        self.assertEqual(rules_broken({"rcu/a.cc": "// " + self.RELAXED}), [])

    def test_a_listed_file_that_names_none(self):
        self.assertEqual(rules_broken({"rcu/a.cc": ""}, lockfree_files=["rcu/a.cc"]),
                         ["lockfree-list"])

    def broken(self, text, path="rcu/a.cc"):
        return rules_broken({path: text, "tests/BUILD": '"a.cc"'}, lockfree_files=[path])

    def test_an_ordered_access_without_its_partner(self):
        fence = "std::atomic_thread_fence(std::memory_order_seq_cst);\n"
        for text in [self.ACQUIRE, fence, "x.load(std::memory_order::acquire);\n",
                     self.ACQUIRE + "\n\n\n// pairs with F()\n"]:
            with self.subTest(text=text):
                self.assertEqual(self.broken(text), ["ordering-partner"])

    def test_an_ordered_access_with_its_partner(self):
        for text in [self.RELAXED, "// O3: published\n" + self.ACQUIRE,
                     "// Pairs with F().\n\n\n" + self.ACQUIRE]:
            with self.subTest(text=text):
                self.assertEqual(self.broken(text), [])
        self.assertEqual(self.broken(self.ACQUIRE, "tests/a.cc"), [])


class Names(unittest.TestCase):
    def test_names_that_say_nothing(self):
        for name in ["util.py", "path_util.py", "helpers/a.py", "common.sh", "lock-manager.py"]:
            with self.subTest(name=name):
                self.assertEqual(rules_broken({"bench/" + name: ""}), ["vague-name"])
        self.assertEqual(rules_broken({"bench/utility.py": "", "bench/uncommon.py": ""}), [])

    def test_marks_of_unfinished_work(self):
        for mark in ["TO" "DO", "FIX" "ME", "X" "XX", "HA" "CK"]:
            with self.subTest(mark=mark):
                self.assertEqual(rules_broken({"rcu/a.cc": f"// {mark}(me): later\n"}), ["unfinished"])
        self.assertEqual(rules_broken({"bench/run.sh": "mktemp a.XXXX" "XX\n"}), [])

    def test_paths_of_one_machine(self):
        for path in ["/wo" "rk/main", "../sha" "red/design.md"]:
            with self.subTest(path=path):
                self.assertEqual(rules_broken({"README.md": f"see {path}\n"}), ["machine-path"])
        self.assertEqual(rules_broken({"README.md": "at work/home, shared\n"}), [])

    def test_a_file_that_no_target_names(self):
        self.assertEqual(rules_broken({"rcu/dead.cc": ""}), ["dead-file"])
        self.assertEqual(rules_broken({"access_cache/a.cc": ""}), ["dead-file"])

    def test_a_test_that_a_comprehension_names(self):
        build = {"tests/BUILD": '[cc_test(name = n) for n in ["x"]]'}
        self.assertEqual(rules_broken({**build, "tests/x_test.cc": ""}), [])
        self.assertEqual(rules_broken({**build, "tests/y_test.cc": ""}), ["dead-file"])


class Tests(unittest.TestCase):
    def test_sleeping(self):
        build = {"tests/BUILD": '"a.cc"'}
        for call in ["std::this_thread::sleep_for(1ms);", "usleep(1);", "sleep(1);",
                     "nanosleep(&t, nullptr);", "poll(nullptr, 0, 1);"]:
            with self.subTest(call=call):
                self.assertEqual(rules_broken({**build, "tests/a.cc": call}), ["test-sleep"])
                self.assertEqual(rules_broken({"rcu/a.cc": call}), [])
        self.assertEqual(rules_broken({**build, "tests/a.cc": "poll(&p, 1, 9); Asleep(x);"}), [])


class Command(unittest.TestCase):
    def test_includes_the_client_and_its_own_files(self):
        build = {"nfsclient/cli/BUILD": BUILD_A, "nfsclient/cli/b.h": "", "nfsclient/client.h": "",
                 "nfsclient/protocol/protocol.h": ""}
        build["nfsclient/cli/BUILD"] += ' "b.h"'
        for header, broken in [("nfsclient/client.h", []), ("nfsclient/cli/b.h", []),
                               ("nfsclient/protocol/protocol.h", ["command-includes"])]:
            with self.subTest(header=header):
                tree = {**build, "nfsclient/cli/a.cc": f'#include "{header}"\n'}
                found = [rule for rule in rules_broken(tree) if rule != "dead-file"]
                self.assertEqual(found, broken)


class Links(unittest.TestCase):
    def test_a_link_to_nothing(self):
        text = "[a](walk.md) [b](../rcu/BUILD#x) [c](https://a.b/c) [d](#x) [e](../rcu)\n"
        self.assertEqual(rules_broken({"docs/a.md": text, "docs/walk.md": ""}), [])
        self.assertEqual(rules_broken({"docs/a.md": text}), ["broken-link"])
        self.assertEqual(rules_broken({"docs/a.md": "![i](i.png)\n"}, other_paths=["docs/i.png"]), [])


class Exceptions(unittest.TestCase):
    TREE = Tree({"rcu/BUILD": BUILD_A, "rcu/a.cc": "\n" * 601})

    def test_an_exception_excepts_its_file_from_its_rule(self):
        self.assertEqual(check(self.TREE, [("file-size", "rcu/a.cc")]), [])
        self.assertEqual(len(check(self.TREE)), 1)

    def test_an_exception_that_excepts_nothing(self):
        left = check(self.TREE, [("file-size", "rcu/a.cc"), ("file-size", "rcu/b.h")])
        self.assertEqual([violation.rule for violation in left], ["unused-exception"])

    def test_an_exception_without_a_reason(self):
        self.assertEqual(read_exceptions("# rule\nfile-size a.cc it is a table\n"),
                         [("file-size", "a.cc")])
        with self.assertRaises(SystemExit):
            read_exceptions("file-size a.cc\n")


class Messages(unittest.TestCase):
    def test_say_file_line_rule_and_what_is_wrong(self):
        tree = Tree({"rcu/BUILD": BUILD_A, "rcu/a.cc": "\nusing namespace a;\n#include <nfsc/libnfs.h>\n"})
        self.assertEqual([str(violation) for violation in check(tree)],
                         ["rcu/a.cc:3: library-home: <nfsc/libnfs.h> belongs to nfsclient/protocol/"])


class Citations(unittest.TestCase):
    PAGE = "docs/rules/names.md"
    RULE = "**NAME-1** A name\nis a name.\nSource: fs/namei.c.\n"
    TESTED = {PAGE: RULE, "tests/BUILD": '"a_test.cc"', "tests/a_test.cc": "// NAME-1.\n"}

    def broken(self, text, files=(), path="docs/a.md"):
        return rules_broken({**self.TESTED, **dict(files), path: text})

    def test_a_rule_that_is_not_there(self):
        for text, broken in [("NAME-1 and (NAME-1).", []), ("NAME-2", ["rule-citation"]),
                             ("NAME-11", ["rule-citation"]), ("RENAME-2 and UTF-8", [])]:
            with self.subTest(text=text):
                self.assertEqual(self.broken(text), broken)

    def test_a_rule_that_no_test_cites(self):
        files = {self.PAGE: self.RULE, "rcu/a.cc": "// NAME-1.\n"}
        self.assertEqual(rules_broken(files), ["rule-citation"])
        self.assertEqual(rules_broken({**files, "tests/a_test.py": "# NAME-1\n"}), [])

    def test_a_rule_without_a_source_or_there_twice(self):
        self.assertEqual(self.broken("**NAME-1** A name.\n", path=self.PAGE), ["rule-citation"])
        self.assertEqual(self.broken(2 * self.RULE, path=self.PAGE), ["rule-citation"])

    def test_notes_that_do_not_ship(self):
        # In pieces, or this file would be a violation.
        for text, broken in [("(vfs" "_walk 6.3)", 1), ("icache" " 6.6, M5", 1), ("style" "_anchors.md 4", 1),
                             ("vfs" "_walk bug 13", 1), ("nfs_semantics;", 1), ("(libnfs" "_ganesha\n2)", 1), ("(design 2)", 1),
                             ("nfsclient/icache/a.cc, icache.h", 0), ("vfs_walks 6", 0)]:
            with self.subTest(text=text):
                self.assertEqual(self.broken(text), ["unshipped-citation"] * broken)
        self.assertEqual(self.broken("// as vfs_walk\n// 6.3 says\n", path="rcu/a.cc"),
                         ["unshipped-citation"])

    def test_a_letter_that_is_not_listed(self):
        files = {"docs/letters.md": "| the B-tree scalability letter | A. U. Thor | 2024 |\n"}
        for text, broken in [("the B-tree scalability letter", 0), ("the letters' figures", 0),
                             ("as the letter says", 1), ("the other letter", 1), ("a letter's table", 0),
                             ("the\nB-tree\nscalability letter", 0), ("The letter", 1)]:
            with self.subTest(text=text):
                self.assertEqual(self.broken(text, files), ["letter-citation"] * broken)
        self.assertEqual(self.broken("the last letter", path="nfsclient/cli/a.md"), [])

    NAMED = {"tests/race/BUILD": '"a_test.cc"', "tests/race/a_test.cc": "TEST_F(ARace, B01_Holds) {\n}\n"}

    def test_a_document_names_a_test_that_is_not_there(self):
        for text, broken in [("`ARace.B01_Holds`", []), ("`ARace.*`", []),
                             ("`ARace.B02_Holds`", ["named-test"]), ("`OtherRace.*`", ["named-test"]),
                             ("`Client.Stat`", [])]:
            with self.subTest(text=text):
                self.assertEqual(rules_broken({**self.NAMED, "docs/a.md": text + "\n"}), broken)


class Mutants(unittest.TestCase):
    TESTS = {"tests/race/BUILD": '"a_test.cc" "a_test"',
             "tests/race/a_test.cc": "TEST_P(ARace, Holds) {\n}\nTEST(BRace, Ends) {\n}\n"}
    TABLE = ('[b-for-a]\ninvariant = "a is a."\nred = ["//tests/race:a_test", "*ARace.Holds*"]\n'
             'file = "rcu/a.cc"\nfind = "int a;"\nreplace = "int b;"\n')

    def broken(self, table, code="int a;\n", **more):
        return rules_broken({**self.TESTS, "rcu/a.cc": code, "tests/mutants/a.toml": table, **more})

    def test_the_code_that_it_breaks_occurs_once(self):
        for code, broken in [("int\n  /* b */ a;  // int a;\n", []), ("int aa;\n", ["mutant"]),
                             ("// int a;\n", ["mutant"]), ("int a;\nint a;\n", ["mutant"])]:
            with self.subTest(code=code):
                self.assertEqual(self.broken(self.TABLE, code), broken)

    def test_later_edits_see_the_code_that_earlier_ones_left(self):
        head, edit = self.TABLE.split("file", 1)
        first = "[[b-for-a.edits]]\nfile" + edit
        again = first.replace("int b", "int c").replace("int a", "int b")
        self.assertEqual(self.broken(head + first + again), [])
        self.assertEqual(self.broken(head + first + first), ["mutant"])

    def test_the_test_that_sees_it_exists(self):
        for seen, broken in [("BRace.Ends", []), ("All/ARace.Holds/v3", []), ("*/ARace.*v3", []),
                             ("*Holds", []), ("*ARace.Holds:BRace.*", []), ("*ARace.Ends", ["mutant"]),
                             ("*Other*", ["mutant"]), ("BRace.Ends:Other.*", ["mutant"])]:
            with self.subTest(seen=seen):
                self.assertEqual(self.broken(self.TABLE.replace("*ARace.Holds*", seen)), broken)
        self.assertEqual(self.broken(self.TABLE.replace(":a_test", ":b_test")), ["mutant"])

    def test_what_it_needs(self):
        for line in self.TABLE.splitlines(keepends=True):
            with self.subTest(line=line):
                self.assertEqual(self.broken(self.TABLE.replace(line, "")), ["mutant"])
        self.assertEqual(self.broken(self.TABLE + 'why = ""\n'), ["mutant"])
        self.assertEqual(self.broken(self.TABLE, **{"tests/mutants/b.toml": self.TABLE}), ["mutant"])


if __name__ == "__main__":
    unittest.main()
