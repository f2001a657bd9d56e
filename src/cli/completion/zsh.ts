import { type Candidates, LISTS, type Node } from "./node.ts";
import { choicesOf, patternsOf, placesOf, quoted, takersOf, valuePatternsOf } from "./patterns.ts";

export function zshScript(nodes: readonly Node[]): string {
  const files = valuePatternsOf(nodes, "files");
  const anything = valuePatternsOf(nodes, "anything");
  const named = (["servers", "tunnels", "devices"] as const).map(
    (names) => `    (${valuePatternsOf(nodes, names)}) ${effectOf(names)}; return ;;`,
  );
  return `#compdef portcullis
# Completion of portcullis for zsh. For this shell, after compinit: source <(portcullis completion zsh)
# For every shell: portcullis completion zsh >/usr/local/share/zsh/site-functions/_portcullis
_portcullis() {
  local word command="" value=""
  local -i at=0
  local -a items
  for word in "\${(@)words[2,CURRENT-1]}"; do
    if [[ -n $value ]]; then value=""; continue; fi
    case "$command $word" in
      (${patternsOf(nodes)}) command="\${command:+$command }$word"; at=0 ;;
      (${takersOf(nodes)}) value=1 ;;
      (*) [[ $word == -* ]] || at+=1 ;;
    esac
  done
  case "$command $words[CURRENT-1]" in
    (${files}) _files; return ;;
    (${anything}) return ;;
${named.join("\n")}
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
  case "$command $at" in
${nodes.flatMap((node) => operandCase(node)).join("\n")}
  esac
}
if [[ $funcstack[1] == _portcullis ]]; then _portcullis "$@"; else compdef _portcullis portcullis; fi
`;
}

function optionItems({ options }: Node): string {
  return options.flatMap(({ names, help }) => names.map((name) => quoted(`${name}:${help}`))).join(" ");
}

function operandCase(node: Node): string[] {
  const items = node.commands.map(({ name, help }) => quoted(`${name}:${help}`)).join(" ");
  return placesOf(node).flatMap(({ at, candidates }) => {
    const effect = items === "" ? effectOf(candidates) : `items=(${items}); _describe command items`;
    return effect === null ? [] : [`    (${at}) ${effect} ;;`];
  });
}

function effectOf(candidates: Candidates): string | null {
  switch (candidates) {
    case "servers":
    case "devices":
    case "exits":
    case "schedules":
    case "tunnels":
      return `compadd -- "\${(@f)$(${LISTS[candidates]} 2>/dev/null | grep -v '^-')}"`;
    case "files":
      return "_files";
    case "anything":
      return null;
    default:
      return `compadd -- ${candidates.join(" ")}`;
  }
}
