#!/usr/bin/env bash
# What real_work.sh does in the current directory, once on the mount and once on tmpfs. Prints and makes the same each
# time: dates are fixed, and archives have none.
#   SOURCE=GIT_SOURCE PROJECT=DIRECTORY WORK=DIRECTORY tests/conformance/real_work_steps.sh WORK
set -euo pipefail

export LC_ALL=C TZ=UTC HOME=$WORK GIT_CONFIG_NOSYSTEM=1 SOURCE_DATE_EPOCH=1000000000
export GIT_AUTHOR_NAME=author GIT_AUTHOR_EMAIL=author@example.org GIT_AUTHOR_DATE='1000000000 +0000'
export GIT_COMMITTER_NAME=author GIT_COMMITTER_EMAIL=author@example.org GIT_COMMITTER_DATE='1000000000 +0000'
export GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=gc.auto GIT_CONFIG_VALUE_0=0

make_git() {
  # Without libraries that not every machine has. D: archives without times and owners.
  make -j2 ARFLAGS=rcsD CFLAGS=-O0 NO_OPENSSL=1 NO_CURL=1 NO_EXPAT=1 NO_GETTEXT=1 NO_TCLTK=1 NO_PYTHON=1
}

build() {
  tar xf "$SOURCE" --strip-components=1
  ./configure --without-tcltk | sed 's/[0-9]*$//'
  make_git >"$WORK/make" 2>&1 || { cat "$WORK/make"; return 1; }
  sort "$WORK/make"  # two jobs print in any order
  touch "$WORK/stamp"
  echo "a make with nothing to do:"
  make_git
  find . -newer "$WORK/stamp"
  ./git --version --build-options
}

# Prints the tests that fail, or of a program that ends before its plan the name.
tests() {
  local results=$WORK/results root=$WORK/root
  rm -rf "$results"
  mkdir -p "$results" "$root"
  # The build knows where it was made.
  mount --bind . "$root"
  mount --bind "$WORK/local/build" "$WORK/here"
  cd "$WORK/here/t"
  printf '%s\n' t00[0-9][0-9]-*.sh | TEST_OUTPUT_DIRECTORY=$results xargs -P 2 -I NAME \
    sh -c "sh NAME --root='$root' >'$results/NAME' 2>&1; true"
  cd "$results"
  grep '^not ok' t*.sh | grep -v '# T[O]DO' || true
  grep -L '^1\.\.' t*.sh | sed 's/$/: unfinished/'
  echo "$(printf '%s\n' t*.sh | wc -l) programs, $(cat t*.sh | grep -c '^ok') tests passed"
}

git_repository() {
  git -c init.defaultBranch=main init -q first
  tar xf "$SOURCE" --strip-components=1 -C first
  cd first
  git add -A
  git commit -q -m first
  sed -i 's/int/long/' ./*.c
  git status --short
  git commit -qam second
  git checkout -q HEAD~1
  git status --short
  git checkout -q main
  git diff --stat HEAD~1 | tail -n 1
  cd ..
  git clone -q first hard_links
  git clone -q --no-local first second
  cd second
  git checkout -q -b topic HEAD~1
  git mv Documentation documents
  git commit -qm topic
  git checkout -q main
  git merge -q --no-edit topic
  git gc -q
  git fsck
  git status --short
  git ls-files -s
  git log --format='%H %T %s'
  git cat-file --batch-all-objects --batch | sha256sum
  cd ../hard_links
  git gc -q --prune=now
  git fsck --full
  git status --short
}

sqlite() {
  sqlite3 database 'create table lines(writer, number, text); create index numbers on lines(number)'
  sqlite3 database >locked <<END || true
begin exclusive;
.shell sqlite3 database 'insert into lines values(0, 0, "locked out")' 2>&1
insert into lines values(0, 1, 'under the lock');
commit;
END
  cat locked
  local writer number
  for writer in 1 2; do
    for ((number = 0; number < 50; ++number)); do
      sqlite3 -cmd '.timeout 60000' database "insert into lines values($writer, $number, hex(zeroblob(500)))"
    done &
  done
  wait
  sqlite3 database 'select writer, count(*), sum(number) from lines group by writer; pragma integrity_check'
  sqlite3 database 'pragma journal_mode=wal; delete from lines where number > 25; vacuum; pragma wal_checkpoint(truncate)'
  sqlite3 database 'select count(*) from lines; pragma integrity_check'
  # The order of rows is that of the writers.
  sqlite3 database 'select * from lines order by writer, number' >rows
  rm database
}

files() {
  mkdir tree
  tar xf "$SOURCE" --strip-components=1 -C tree
  # Times of symbolic links are not nfs-ganesha's to set (reference_v3.txt, utimensat/05).
  tar cf tree.tar --sort=name --mtime="@$SOURCE_DATE_EPOCH" tree
  mkdir extracted
  tar xf tree.tar -C extracted
  diff -r --no-dereference tree extracted/tree
  rsync -aJ tree/ copy/
  diff -r --no-dereference tree copy
  rm -r copy/t
  sed -i 's/int/long/' tree/*.c
  touch copy/not_in_tree
  rsync -aJci --delete tree/ copy/
  diff -r --no-dereference tree copy
  # Writes another file, and renames it: the second name keeps what was.
  ln tree/README.md second_name
  "$(command -v vim.tiny || command -v vim)" -es -u NONE -c 'set writebackup backupcopy=no' -c '%s/git/vim/' -c wq tree/README.md
  cmp tree/README.md second_name || true
  sqlite
}

bazel_build() {
  (cd "$PROJECT" && find . \( -name 'bazel-*' -o -name .git \) -prune -o -type f -print0 | tar c --null -T -) | tar x
  local targets
  read -ra targets <<<"${BAZEL_TARGETS-//rcu/... //sunrpc_auth/...}"
  find "$WORK/bazel" -mindepth 1 -delete
  local bazel=(bazel --batch "--output_base=$WORK/bazel")
  "${bazel[@]}" build --noshow_progress "${targets[@]}" >"$WORK/output" 2>&1 || { cat "$WORK/output"; return 1; }
  (cd bazel-bin && find . -type f -print0 | sort -z | xargs -0r sha256sum)
  touch "$WORK/stamp"
  echo "a build with nothing to do:"
  "${bazel[@]}" build --noshow_progress "${targets[@]}" 2>&1 | grep -c ' 1 process: 1 internal'
  find "$WORK/bazel/execroot" -type f -path '*/bin/*' -newer "$WORK/stamp"
}

case $1 in
  git) git_repository ;;
  bazel) bazel_build ;;
  build | files | tests) "$1" ;;
  *) exit 2 ;;
esac
