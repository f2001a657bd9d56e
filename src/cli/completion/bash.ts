import type { Candidates, Node } from "./node.ts";
import { choicesOf, patternAt, patternsOf, valuePatternsOf } from "./patterns.ts";

export function bashScript(nodes: readonly Node[]): string {
  const files = valuePatternsOf(nodes, "files");
  const anything = valuePatternsOf(nodes, "anything");
  return `# Completion of portcullis for bash. For this shell: source <(portcullis completion bash)
# For every shell of the machine: portcullis completion bash >/etc/bash_completion.d/portcullis
_portcullis() {
  local word words="" command="" operands=0 current=\${COMP_WORDS[COMP_CWORD]}
  COMPREPLY=()
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    case "$command $word" in
    ${patternsOf(nodes)}) command="\${command:+$command }$word" ;;
    *) [[ $word == -* ]] || operands=$((operands + 1)) ;;
    esac
  done
  case "$command \${COMP_WORDS[COMP_CWORD-1]}" in
  ${files}) compopt -o default; return ;;
  ${anything}) return ;;
${choicesOf(nodes)
  .map(({ pattern, words }) => `  ${pattern}) COMPREPLY=($(compgen -W "${words}" -- "$current")); return ;;`)
  .join("\n")}
  esac
  if [[ $current == -* ]]; then
    case "$command" in
${nodes.map((node) => `    "${node.path}") words="${node.options.flatMap((each) => each.names).join(" ")}" ;;`).join("\n")}
    esac
  else
    case "$command" in
${nodes.flatMap((node) => operandCase(node)).join("\n")}
    esac
  fi
  COMPREPLY+=($(compgen -W "$words" -- "$current"))
}
_portcullis_servers() {
  local name
  while IFS= read -r name; do
    printf -v name %q "$name"
    [[ $name == "$1"* ]] && COMPREPLY+=("$name")
  done < <(portcullis servers --places --names 2>/dev/null | grep -v '^-')
}
complete -F _portcullis portcullis
`;
}

function operandCase({ path, commands, operands }: Node): string[] {
  if (operands.length > 1) {
    const cases = operands.map((each, at) => `${patternAt(at, operands)}) ${effectOf(each) ?? ""} ;;`);
    return [`    "${path}") case $operands in ${cases.join(" ")} esac ;;`];
  }
  const effect = effectOf(commands.length > 0 ? commands.map(({ name }) => name) : operands[0]);
  return effect === null ? [] : [`    "${path}") ${effect} ;;`];
}

function effectOf(candidates: Candidates): string | null {
  switch (candidates) {
    case "servers":
      return '_portcullis_servers "$current"';
    case "tunnels":
      return 'words="$(portcullis tunnels --names 2>/dev/null)"';
    case "files":
      return "compopt -o default";
    case "anything":
      return null;
    default:
      return `words="${candidates.join(" ")}"`;
  }
}
