import type { Candidates, Node } from "./node.ts";
import { choicesOf, patternAt, patternsOf, quoted, valuePatternsOf } from "./patterns.ts";

export function zshScript(nodes: readonly Node[]): string {
  const files = valuePatternsOf(nodes, "files");
  const anything = valuePatternsOf(nodes, "anything");
  return `#compdef portcullis
# Completion of portcullis for zsh. For this shell, after compinit: source <(portcullis completion zsh)
# For every shell: portcullis completion zsh >/usr/local/share/zsh/site-functions/_portcullis
_portcullis() {
  local word command="" operands=0
  local -a items
  for word in "\${(@)words[2,CURRENT-1]}"; do
    case "$command $word" in
      (${patternsOf(nodes)}) command="\${command:+$command }$word" ;;
      (*) [[ $word == -* ]] || operands=$((operands + 1)) ;;
    esac
  done
  case "$command $words[CURRENT-1]" in
    (${files}) _files; return ;;
    (${anything}) return ;;
${choicesOf(nodes)
  .map(({ pattern, words }) => `    (${pattern}) compadd -- ${words}; return ;;`)
  .join("\n")}
  esac
  if [[ $words[CURRENT] == -* ]]; then
    case "$command" in
${nodes.map((node) => `      ("${node.path}") items=(${optionItems(node)}) ;;`).join("\n")}
    esac
    _describe -o option items
    return
  fi
  case "$command" in
${nodes.flatMap((node) => operandCase(node)).join("\n")}
  esac
}
if [[ $funcstack[1] == _portcullis ]]; then _portcullis "$@"; else compdef _portcullis portcullis; fi
`;
}

function optionItems({ options }: Node): string {
  return options.flatMap(({ names, help }) => names.map((name) => quoted(`${name}:${help}`))).join(" ");
}

function operandCase({ path, commands, operands }: Node): string[] {
  if (operands.length > 1) {
    const cases = operands.map((each, at) => `(${patternAt(at, operands)}) ${effectOf(each) ?? ""} ;;`);
    return [`    ("${path}") case $operands in ${cases.join(" ")} esac ;;`];
  }
  const items = commands.map(({ name, help }) => quoted(`${name}:${help}`)).join(" ");
  const effect = commands.length > 0 ? `items=(${items}); _describe command items` : effectOf(operands[0]);
  return effect === null ? [] : [`    ("${path}") ${effect} ;;`];
}

function effectOf(candidates: Candidates): string | null {
  switch (candidates) {
    case "servers":
      return `compadd -- "\${(@f)$(portcullis servers --places --names 2>/dev/null | grep -v '^-')}"`;
    case "tunnels":
      return `compadd -- "\${(@f)$(portcullis tunnels --names 2>/dev/null)}"`;
    case "files":
      return "_files";
    case "anything":
      return null;
    default:
      return `compadd -- ${candidates.join(" ")}`;
  }
}
