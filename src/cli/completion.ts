import { FILES } from "./complete.ts";

/** Shell scripts that ask the program itself what can be typed: `portcullis complete -- WORDS`. */
export const COMPLETION = {
  bash: `# Completion of portcullis for bash. For this shell: source <(portcullis completion bash)
# For every shell of the machine: portcullis completion bash >/etc/bash_completion.d/portcullis
_portcullis() {
  local rest=$COMP_LINE typed=() gap word found
  # The words up to the cursor; readline also ends a word at a colon, as in an id or an address.
  for word in "\${COMP_WORDS[@]:0:COMP_CWORD+1}"; do
    gap=\${rest%%[![:space:]]*}
    rest=\${rest#"$gap"}
    rest=\${rest#"$word"}
    if [[ -n $gap || \${#typed[@]} == 0 ]]; then typed+=("$word"); else typed[-1]+=$word; fi
  done
  local current=\${typed[-1]}
  COMPREPLY=()
  found=$(portcullis complete -- "\${typed[@]:1}" 2>/dev/null)
  if [[ $? == ${FILES} ]]; then compopt -o default; return; fi
  while IFS=$'\\t' read -r word gap; do
    [[ -n $word ]] || continue
    printf -v word %q "$word"
    [[ $word == "$current"* ]] && COMPREPLY+=("$word")
  done <<<"$found"
  # Only what follows the last colon is replaced.
  [[ $COMP_WORDBREAKS == *:* && $current == *:* ]] && COMPREPLY=("\${COMPREPLY[@]#"\${current%:*}:"}")
}
complete -F _portcullis portcullis
`,
  zsh: `#compdef portcullis
# Completion of portcullis for zsh. For this shell, after compinit: source <(portcullis completion zsh)
# For every shell: portcullis completion zsh >/usr/local/share/zsh/site-functions/_portcullis
_portcullis() {
  local found line
  local -a items
  found=$(portcullis complete -- "\${(@)words[2,CURRENT]}" 2>/dev/null)
  if (( $? == ${FILES} )); then _files; return; fi
  # For _describe, a word ends at a colon.
  for line in \${(f)found}; do
    line=\${line//:/\\\\:}
    items+=("\${line/$'\\t'/:}")
  done
  _describe portcullis items
}
if [[ $funcstack[1] == _portcullis ]]; then _portcullis "$@"; else compdef _portcullis portcullis; fi
`,
  fish: `# Completion of portcullis for fish. For this shell: portcullis completion fish | source
# For every shell: portcullis completion fish >/etc/fish/completions/portcullis.fish
function __portcullis_complete
    set -l current (commandline -ct)
    set -l typed (commandline -opc)
    set -l found (portcullis complete -- $typed[2..] "$current" 2>/dev/null)
    if test $status = ${FILES}
        __fish_complete_path "$current"
    else
        string join \\n -- $found
    end
end
complete -c portcullis -f -a '(__portcullis_complete)'
`,
} as const;
