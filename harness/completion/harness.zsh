#compdef harness
# zsh completion of harness. Load it with
#   source <(harness completion zsh)
# or store it as _harness in a folder of $fpath.
_harness() {
  local -a found
  found=("${(@f)$(${~words[1]} __complete "${(@Q)words[2,CURRENT-1]}" "${(Q)PREFIX}" 2>/dev/null | cut -f1)}")
  if [[ ${found[1]} == "<files>" ]]; then
    compset -P '--*='
    _files
  else
    compadd -S '' -- ${(M)found:#*=}
    compadd -- ${found:#*=}
  fi
}
if [[ ${funcstack[1]-} == _harness ]]; then _harness "$@"; else compdef _harness harness; fi
