import { type Candidates, LISTS, type Node } from "./node.ts";
import { choicesOf, patternsOf, placesOf, takersOf, valuePatternsOf } from "./patterns.ts";

export function bashScript(nodes: readonly Node[]): string {
  const files = valuePatternsOf(nodes, "files");
  const anything = valuePatternsOf(nodes, "anything");
  const named = (["servers", "tunnels", "devices"] as const).map(
    (names) => `  ${valuePatternsOf(nodes, names)}) ${effectOf(names)}; return ;;`,
  );
  return `# Completion of portcullis for bash. For this shell: source <(portcullis completion bash)
# For every shell of the machine: portcullis completion bash >/etc/bash_completion.d/portcullis
_portcullis() {
  local word words="" command="" at=0 value="" typed=()
  _portcullis_typed
  local current=\${typed[-1]}
  COMPREPLY=()
  for word in "\${typed[@]:1:\${#typed[@]}-2}"; do
    if [[ -n $value ]]; then value=""; continue; fi
    case "$command $word" in
    ${patternsOf(nodes)}) command="\${command:+$command }$word"; at=0 ;;
    ${takersOf(nodes)}) value=1 ;;
    *) [[ $word == -* ]] || at=$((at + 1)) ;;
    esac
  done
  case "$command \${typed[-2]}" in
  ${files}) compopt -o default; return ;;
  ${anything}) return ;;
${named.join("\n")}
${choicesOf(nodes)
  .map(({ pattern, words }) => `  ${pattern}) COMPREPLY=($(compgen -W "${words}" -- "$current")); return ;;`)
  .join("\n")}
  esac
  if [[ $current == -* ]]; then
    case "$command" in
${nodes.map((node) => `    "${node.path}") words="${node.options.flatMap((each) => each.names).join(" ")}" ;;`).join("\n")}
    esac
  else
    case "$command $at" in
${nodes.flatMap((node) => operandCase(node)).join("\n")}
    esac
  fi
  COMPREPLY+=($(compgen -W "$words" -- "$current"))
  # Only what follows the last colon is replaced.
  [[ $COMP_WORDBREAKS == *:* && $current == *:* ]] && COMPREPLY=("\${COMPREPLY[@]#"\${current%:*}:"}")
}
# The words up to the cursor; readline also ends a word at a colon, as in an id or an address.
_portcullis_typed() {
  local rest=$COMP_LINE word gap
  for word in "\${COMP_WORDS[@]:0:COMP_CWORD+1}"; do
    gap=\${rest%%[![:space:]]*}
    rest=\${rest#"$gap"}
    rest=\${rest#"$word"}
    if [[ -n $gap || \${#typed[@]} == 0 ]]; then typed+=("$word"); else typed[-1]+=$word; fi
  done
}
_portcullis_names() {
  local name
  while IFS= read -r name; do
    printf -v name %q "$name"
    [[ $name == "$1"* ]] && COMPREPLY+=("$name")
  done < <("\${@:2}" 2>/dev/null | grep -v '^-')
}
complete -F _portcullis portcullis
`;
}

function operandCase(node: Node): string[] {
  return placesOf(node).flatMap(({ at, candidates }) => {
    const effect = effectOf(candidates);
    return effect === null ? [] : [`    ${at}) ${effect} ;;`];
  });
}

function effectOf(candidates: Candidates): string | null {
  switch (candidates) {
    case "servers":
    case "devices":
    case "exits":
    case "schedules":
    case "tunnels":
      return `_portcullis_names "$current" ${LISTS[candidates]}`;
    case "files":
      return "compopt -o default";
    case "anything":
      return null;
    default:
      return `words="${candidates.join(" ")}"`;
  }
}
