# bash completion of harness. Load it with
#   source <(harness completion bash)
_harness() {
  local line=${COMP_LINE:0:COMP_POINT} words typed=${2//\\/}
  read -a words <<< "$line"  # which takes a backslash before a blank as the shell does
  if [[ $line == *[[:blank:]] ]]; then words+=(""); fi
  words[-1]=${words[-1]#[\"\']}
  mapfile -t COMPREPLY < <("${1/#\~\//$HOME/}" __complete "${words[@]:1}" 2>/dev/null | cut -f1)
  if [[ ${COMPREPLY-} == "<files>" ]]; then
    compopt -o filenames 2>/dev/null
    mapfile -t COMPREPLY < <(compgen -f -- "$2")
    return
  fi
  COMPREPLY=("${COMPREPLY[@]#"${words[-1]%"$typed"}"}")  # of --option=value bash takes the value for the word
  if [[ ${COMPREPLY-} == *= ]]; then compopt -o nospace 2>/dev/null; fi
  if [[ $line != *[\"\']"$typed" ]]; then COMPREPLY=("${COMPREPLY[@]// /\\ }"); fi
}
complete -F _harness harness
