"""Shows each rule what it forbids, and its nearest neighbour that it allows."""

import unittest

import walk_steps
from rules import Tree, check
from source_text import cxx_code, cxx_functions
from tidy import read_exceptions

BUILD_A = 'cc_library(srcs = ["a.cc", "a.h", "b.h"])'


def rules_broken(files, **tree):
    """The names of the rules that `files` break, besides the BUILD file they would need."""
    files = {"rcu/BUILD": BUILD_A, **files}
    return sorted({violation.rule for violation in check(Tree(files, **tree))})


class RuleTest(unittest.TestCase):
    def assert_broken(self, rule, *broken, **tree):
        """Each of these checkouts breaks the rule, and no other."""
        for files in broken:
            with self.subTest(files=files):
                self.assertEqual(rules_broken(files, **tree), [rule])

    def assert_kept(self, *kept, **tree):
        for files in kept:
            with self.subTest(files=files):
                self.assertEqual(rules_broken(files, **tree), [])


class FunctionsOfCxx(unittest.TestCase):
    def test_comments_and_literals_are_blanked_and_lines_kept(self):
        code = cxx_code('int a; // {\nauto s = R"x(\n}")x"; char c = \'{\'; /* {\n */ int n = 1\'000;')
        self.assertEqual(code.count("\n"), 3)
        self.assertNotRegex(code, "[{}]")
        self.assertIn("int n = 1'000;", code)

    def test_a_body_is_found_with_its_head_wherever_it_stands(self):
        for text, found in [
                ("namespace a {\nstruct B : C {\n  void F(\n      int x) {\n    if (x) {\n    }\n  }\n"
                 "  int y[2] = {1, 2};\n};\n}\n", (3, 7)),
                ("struct alignas(F(2)) [[gnu::packed(1)]] A {\n  void F() {\n  }\n};\n", (2, 3)),
                ("B::B(int x)\n    : a_{x},\n      b_(x) {\n  F();\n}\n", (1, 5)),
                ("#define F(x) { \\\n  g(x)\nvoid H() {\n}\n", (3, 4))]:
            self.assertEqual(cxx_functions(text), [found], text)


class Files(RuleTest):
    def test_a_file_has_at_most_600_lines_and_a_function_70(self):
        self.assert_kept({"rcu/a.cc": "\n" * 600}, {"rcu/a.cc": "void F() {" + "\n" * 69 + "}"},
                         {"tests/a.py": "def f():\n" + "  g()\n" * 69})
        self.assert_broken("file-size", {"rcu/a.cc": "\n" * 601})
        self.assert_broken("function-size", {"rcu/a.cc": "void F() {" + "\n" * 70 + "}"},
                           {"tests/a.py": "def f():\n" + "  g()\n" * 70})

    def test_comments_begin_with_a_verb_or_a_noun(self):
        self.assert_broken("comment-subject", *({"rcu/a.cc": text} for text in [
            "// What a table keeps.\n", "int a;  // ours\n  // Of a table.\n", "// a: a table.\n//\n// Both are.\n"]),
            {"tests/BUILD": "# What tests share.\n"}, {"bench/run.sh": "a=1\n# Of a row.\n"})
        self.assert_kept({"rcu/a.cc": "// Keeps a table, and all of the mount\n// that is in it.\n// Whatever that is.\n",
                          "bench/run.sh": "# Prints a row.\n# That is all.\n"})

    def test_names_of_tests_begin_with_a_subject(self):
        self.assert_broken("test-name", *(
            {"tests/a_test.cc": f"TEST_F(Map, {name}) {{}}\n", "tests/BUILD": 'cc_test(srcs = ["a_test.cc"])'}
            for name in ["WhatIsThereIsFound", "OfTwoTheFirst", "ThatIsFull"]))
        self.assert_kept({"tests/a_test.cc": "TEST(Map, OfficesAreFound) {}\nTEST(Map, WhateverIsThere) {}\n",
                          "tests/BUILD": 'cc_test(srcs = ["a_test.cc"])'})

    def test_sentences_name_their_subject(self):
        self.assert_broken("no-term", *({"docs/a.md": f"{words}\n"} for words in [
            "that no" "body waits", "any" "body of", "taken in v" "ain", "names in d" "oubt", "a COMMIT vou" "ches"]))
        self.assert_kept({"docs/a.md": "The owner is nobody (65534).\n"})

    def test_names_that_say_nothing(self):
        self.assert_broken("vague-name", *({"bench/" + name: ""} for name in [
            "util.py", "path_util.py", "helpers/a.py", "common.sh", "lock-manager.py"]))
        self.assert_kept({"bench/utility.py": "", "bench/uncommon.py": ""})

    def test_marks_of_unfinished_work(self):
        self.assert_broken("unfinished", *({"rcu/a.cc": f"// {mark}(me): later\n"} for mark in [
            "TO" "DO", "FIX" "ME", "X" "XX", "HA" "CK"]))
        self.assert_kept({"bench/run.sh": "mktemp a.XXXX" "XX\n"})

    def test_paths_of_one_machine(self):
        self.assert_broken("machine-path", *({"README.md": f"see {path}\n"} for path in [
            "/wo" "rk/main", "../sha" "red/design.md"]))
        self.assert_kept({"README.md": "at work/home, shared\n"})

    def test_a_file_that_no_target_names(self):
        build = {"tests/BUILD": '[cc_test(name = n) for n in ["x"]]'}
        self.assert_broken("dead-file", {"rcu/dead.cc": ""}, {"access_cache/a.cc": ""},
                           {**build, "tests/y_test.cc": ""})
        self.assert_kept({**build, "tests/x_test.cc": ""})
        library = {"rcu/BUILD": 'nfswalk_library(name = "x")'}
        self.assert_broken("dead-file", {**library, "rcu/y.cc": ""})
        self.assert_kept({**library, "rcu/x.h": ""})

    def test_a_link_to_nothing(self):
        text = "[a](walk.md) [b](../rcu/BUILD#x) [c](https://a.b/c) [d](#x) [e](../rcu)\n"
        self.assert_kept({"docs/a.md": text, "docs/walk.md": ""})
        self.assert_broken("broken-link", {"docs/a.md": text})
        self.assert_kept({"docs/a.md": "![i](i.png)\n"}, other_paths=["docs/i.png"])

    def test_sleeping_in_tests(self):
        build = {"tests/BUILD": '"a.cc"'}
        calls = ["std::this_thread::sleep_for(1ms);", "usleep(1);", "sleep(1);",
                 "nanosleep(&t, nullptr);", "poll(nullptr, 0, 1);"]
        self.assert_broken("test-sleep", *({**build, "tests/a.cc": call} for call in calls))
        self.assert_kept(*({"rcu/a.cc": call} for call in calls),
                         {**build, "tests/a.cc": "poll(&p, 1, 9); Asleep(x);"})


def including(path, header):
    """A checkout whose file `path` includes "header"."""
    folder, name = path.rsplit("/", 1)
    above, other = header.rsplit("/", 1)
    files = {f"{folder}/BUILD": f'"{name}"', path: f'#include "{header}"\n'}
    files[f"{above}/BUILD"] = f'"{other}" ' + files.get(f"{above}/BUILD", "")
    return {**files, header: ""}


class Includes(RuleTest):
    def test_upwards(self):
        self.assert_broken(
            "include-direction", including("rcu/a.cc", "sunrpc_auth/c.h"),
            including("nfsclient/vfs/a.cc", "nfsclient/nfs/c.h"),
            including("nfsclient/walk/a.cc", "nfsclient/client.h"),
            including("nfsclient/a.cc", "tests/c.h"), including("nfsclient/cli/a.cc", "bench/x/c.h"),
            including("tests/fixtures/a.cc", "tests/race/c.h"))

    def test_downwards(self):
        self.assert_kept(
            including("sunrpc_auth/a.cc", "rcu/c.h"), including("nfsclient/a.cc", "nfsclient/nfs/c.h"),
            including("nfsclient/cli/a.cc", "nfsclient/client.h"),
            including("nfsclient/cli/a.cc", "nfsclient/cli/b.h"), including("bench/x/a.cc", "tests/c.h"),
            including("tests/race/a.cc", "tests/fixtures/c.h"), including("tests/fixtures/a.cc", "rcu/c.h"))

    def test_what_the_command_may_not_include(self):
        self.assert_broken("command-includes",
                           including("nfsclient/cli/a.cc", "nfsclient/protocol/protocol.h"))

    def test_a_header_that_is_not_there(self):
        self.assert_broken("include-direction", {"rcu/a.cc": '#include "b.h"\n', "rcu/b.h": ""},
                           {"rcu/a.cc": '#include "rcu/gone.h"\n'})
        self.assert_kept({"rcu/a.cc": '// #include "rcu/gone.h"\n'})

    def test_a_library_outside_its_home(self):
        nfs = "#include <nfsc/libnfs.h>\n"
        self.assert_broken("library-home", {"rcu/a.cc": nfs}, {"rcu/a.cc": "#include <rpc/rpc.h>\n"},
                           {"rcu/a.cc": "#include <tirpc/rpc/rpc.h>\n"},
                           {"bench/a.cc": "#include <urcu/urcu-memb.h>\n", "bench/BUILD": '"a.cc"'})
        for home in ["nfsclient/nfs3/", "tests/unit/nfsclient/nfs4/"]:
            self.assert_kept({home + "a.cc": nfs, home + "BUILD": '"a.cc"'})


class LockFreeFiles(RuleTest):
    RELAXED = "x.load(std::memory_order_relaxed);\n"
    ACQUIRE = "x.load(std::memory_order_acquire);\n"
    LISTED = {"lockfree_files": ["rcu/a.cc"]}

    def test_only_listed_files_name_a_memory_order(self):
        self.assert_broken("lockfree-list", {"rcu/a.cc": self.RELAXED})
        self.assert_kept({"rcu/a.cc": self.RELAXED}, **self.LISTED)
        self.assert_kept({"rcu/a.cc": "// " + self.RELAXED})
        self.assert_broken("lockfree-list", {"rcu/a.cc": ""}, **self.LISTED)

    def test_an_ordered_access_has_its_partner(self):
        fence = "std::atomic_thread_fence(std::memory_order_seq_cst);\n"
        self.assert_broken("ordering-partner", *({"rcu/a.cc": text} for text in [
            self.ACQUIRE, fence, "x.load(std::memory_order::acquire);\n",
            self.ACQUIRE + "\n\n\n// pairs with F()\n"]), **self.LISTED)
        self.assert_kept({"rcu/a.cc": "// O3: published\n" + self.ACQUIRE},
                         {"rcu/a.cc": "// Pairs with F().\n\n\n" + self.ACQUIRE}, **self.LISTED)
        self.assert_kept({"tests/a.cc": self.ACQUIRE, "tests/BUILD": '"a.cc"'},
                         lockfree_files=["tests/a.cc"])


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
                         ["rcu/a.cc:3: library-home: <nfsc/libnfs.h> belongs to nfsclient/rpc or nfsclient/nfs3 or nfsclient/nfs4"])


class Citations(RuleTest):
    PAGE = "docs/rules/names.md"
    RULE = "**NAME-1** A name\nis a name.\nSource: fs/namei.c.\n"
    TESTED = {PAGE: RULE, "tests/BUILD": '"a_test.cc"', "tests/a_test.cc": "// NAME-1.\n"}

    def broken(self, text, files=(), path="docs/a.md"):
        return rules_broken({**self.TESTED, **dict(files), path: text})

    def test_a_rule_is_there_and_cited_by_a_test_and_has_a_source(self):
        def citing(text):
            return {**self.TESTED, "docs/a.md": text}
        untested = {self.PAGE: self.RULE, "rcu/a.cc": "// NAME-1.\n"}
        self.assert_kept(citing("NAME-1 and (NAME-1)."), citing("RENAME-2 and UTF-8"),
                         {**untested, "tests/a_test.py": "# NAME-1\n"})
        self.assert_broken("rule-citation", citing("NAME-2"), citing("NAME-11"), untested,
                           {**self.TESTED, self.PAGE: "**NAME-1** A name.\n"},
                           {**self.TESTED, self.PAGE: 2 * self.RULE})

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
        files = {"docs/research/letters.md": "| the B-tree scalability letter | A. U. Thor | 2024 |\n"}
        for text, broken in [("the B-tree scalability letter", 0), ("the letters' figures", 0),
                             ("as the letter says", 1), ("the other letter", 1), ("a letter's table", 0),
                             ("the\nB-tree\nscalability letter", 0), ("The letter", 1)]:
            with self.subTest(text=text):
                self.assertEqual(self.broken(text, files), ["letter-citation"] * broken)
        self.assertEqual(self.broken("the last letter", path="nfsclient/cli/a.md"), [])

    NAMED = {"tests/race/BUILD": '"a_test.cc"', "tests/race/a_test.cc": "TEST_F(ARace, B01_Holds) {\n}\n"}

    def test_a_document_names_a_test_that_is_not_there(self):
        def naming(text):
            return {**self.NAMED, "docs/a.md": text + "\n"}
        self.assert_kept(naming("`ARace.B01_Holds`"), naming("`ARace.*`"), naming("`Client.Stat`"))
        self.assert_broken("named-test", naming("`ARace.B02_Holds`"), naming("`OtherRace.*`"))

    def test_a_target_that_a_script_names(self):
        def naming(text):
            return {"rcu/BUILD": "", "nfsclient/nfs/BUILD": "", "nfsclient/nfs4/BUILD": "", ".ci/suites": text + "\n"}
        self.assert_kept(naming("a=(//rcu/... //nfsclient/{nfs,nfs4}/... //nfsclient/...) # //gone"),
                         naming("run //... //rcu:all"), naming("https://gone/x"), naming("'tests(//rcu/...)'"))
        self.assert_broken("script-target", naming("a=(//gone/...)"), naming("//rcu //rcu/gone:all"),
                           naming("//nfsclient:all"), naming("a=(//nfsclient/{nfs,nfs3}/...)"))

    def test_a_file_that_a_document_names(self):
        def naming(text):
            return {"nfsclient/nfs/a.md": "", "rcu/b.md": "", "docs/a.md": text + "\n"}
        self.assert_kept(naming("`rcu/b.md`"), naming("`nfs/a.md: lock`"),
                         naming("`nfsclient/nfs/a.md`"), naming("`b.md`"), naming("nfs/gone.h"))
        self.assert_broken("named-file", naming("`nfs/gone.h`"), naming("`nfsclient/rcu/b.md: lock`"),
                           naming("`gone.h`"))

    def test_the_walks_take_the_same_steps(self):
        def walks(rcu, ref):
            def text(walk, follow):
                bodies = {function: " ".join(f"{step};" for step in steps)
                          for function, steps in walk_steps.STEPS.items()}
                bodies["FollowLink"] = follow
                return "".join(f"int {walk}::{name}() {{\n  {body}\n}}\n" for name, body in bodies.items())
            build = 'cc_library(srcs = ["rcu_walk.cc", "ref_walk.cc"])'
            return {"nfsclient/walk/BUILD": build, "nfsclient/walk/rcu_walk.cc": text("RcuWalk", rcu),
                    "nfsclient/walk/ref_walk.cc": text("RefWalk", ref)}
        steps = walk_steps.STEPS["FollowLink"]
        all_of_them = " ".join(f"{step};" for step in steps)
        self.assert_kept(walks(all_of_them, all_of_them + " Splice;"))
        self.assert_broken("walk-steps", walks(all_of_them, " ".join(f"{step};" for step in reversed(steps))),
                           walks(all_of_them, all_of_them.replace("MayFollowLink;", "// MayFollowLink\n")),
                           walks(*2 * [all_of_them.replace("MayFollowLink;", "")]))

    def test_a_target_that_a_document_names(self):
        def naming(text):
            return {"rcu/a.h": "", "docs/a.md": text + "\n"}
        build = {"rcu/BUILD": 'cc_library(name = "c", hdrs = ["a.h"])'}
        self.assert_kept({**naming("`//rcu:c`, `bazel test //rcu:c`"), **build})
        self.assert_broken("named-target", {**naming("`//rcu:d`"), **build}, {**naming("`//gone:c`"), **build})

    def test_named_options_exist(self):
        def naming(text):
            return {"bench/a.sh": "case $1 in --files) ;; esac\n", "docs/a.md": text + "\n",
                    "docs/man/a.1": "--gone"}
        self.assert_kept(naming("`--files`, `a --files 3`, `bazel test --config=asan`, --gone, a--gone"))
        self.assert_broken("named-option", naming("`--gone`"), naming("`a --files --gone=3`"))


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
