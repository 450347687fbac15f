# Completion of nfswalk(1) for bash. Source this file, or put it under the name "nfswalk" into
# /usr/share/bash-completion/completions.

# The options of one command, as its --help has them.
_nfswalk_options() {
  local every="--help --json --uid --gid --groups"
  case $1 in
    stat) echo "$every -h -L --dereference --acl --xattrs -c --format" ;;
    ls)
      echo "$every -a --all -A --almost-all -d --directory -l --long -n --numeric-uid-gid --acl -h" \
        "--human-readable -R --recursive -r --reverse -t -S --color"
      ;;
    readlink | cat | mv | doctor) echo "$every -h" ;;
    access) echo "$every -h -r --read -w --write -x --execute" ;;
    find)
      echo "$every -h --name --iname --path --type --size --newer --mindepth --maxdepth --threads" \
        "--print0 -name -iname -path -type -size -newer -mindepth -maxdepth -print0"
      ;;
    du)
      echo "$every -s --summarize -h --human-readable -a --all --apparent-size -d --max-depth" \
        "--threads"
      ;;
    cp) echo "$every -h -r -R --recursive -p --preserve --threads" ;;
    put) echo "$every -h -a --append" ;;
    mkdir) echo "$every -h -p --parents -m --mode" ;;
    rm) echo "$every -h -r -R --recursive -f --force --threads" ;;
    ln) echo "$every -h -s --symbolic" ;;
    touch) echo "$every -h -c --no-create" ;;
    chmod) echo "$every -h -m --mode -R --recursive --threads" ;;
    mount) echo "--help -h -o --options -f --foreground" ;;
    stats) echo "--help -h --json --openmetrics" ;;
  esac
}

_nfswalk() {
  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]}
  local command=${COMP_WORDS[1]}
  COMPREPLY=()
  if ((COMP_CWORD == 1)); then
    mapfile -t COMPREPLY < <(compgen -W \
      "stat ls readlink access cat find du cp put mkdir rm mv ln touch chmod mount stats doctor --help" \
      -- "$word")
    return
  fi
  # bash makes words of their own of the "=" in --color=auto and of the ":" in a URL.
  if [[ $word == "=" ]]; then
    word=""
  elif [[ $before == "=" ]]; then
    before=${COMP_WORDS[COMP_CWORD - 2]}
  fi
  case $before in
    --color)
      mapfile -t COMPREPLY < <(compgen -W "auto always never" -- "$word")
      return
      ;;
    --type | -type)
      mapfile -t COMPREPLY < <(compgen -W "f d l b c p s" -- "$word")
      return
      ;;
    -c)
      [[ $command == touch ]] || return
      ;;
    -o | --options | --uid | --gid | --groups | --format | -m | --mode | --name | --iname | --path | --size | --newer | \
      --mindepth | --maxdepth | --max-depth | --threads | -name | -iname | -path | -size | \
      -newer | -mindepth | -maxdepth)
      return
      ;;
  esac
  if [[ $word == -* ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$(_nfswalk_options "$command")" -- "$word")
  elif [[ $command == stats ]]; then
    mapfile -t COMPREPLY < <(compgen -d -- "$word")
    compopt -o filenames 2>/dev/null
  elif [[ " ${COMP_WORDS[*]}" != *" nfs :"* && " ${COMP_WORDS[*]}" != *" nfs:"* ]]; then
    mapfile -t COMPREPLY < <(compgen -W "nfs://" -- "$word")
    compopt -o nospace 2>/dev/null
  elif [[ $command == cp || $command == mount ]]; then
    mapfile -t COMPREPLY < <(compgen -f -- "$word")
    compopt -o filenames 2>/dev/null
  fi
}

complete -F _nfswalk nfswalk
