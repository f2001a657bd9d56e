import { type Candidates, LISTS, type Node } from "./node.ts";
import { patternsOf, takersOf } from "./patterns.ts";

export function fishScript(nodes: readonly Node[]): string {
  return `# Completion of portcullis for fish. For this shell: portcullis completion fish | source
# For every shell: portcullis completion fish >/etc/fish/completions/portcullis.fish
function __portcullis_command
    set -l command ""
    for word in (commandline -opc)[2..]
        switch "$command $word"
            case ${patternsOf(nodes, " ")}
                set command (string trim "$command $word")
        end
    end
    echo $command
end
function __portcullis_at
    set -l command ""
    set -l at 0
    set -l value ""
    for word in (commandline -opc)[2..]
        if test -n "$value"
            set value ""
            continue
        end
        switch "$command $word"
            case ${patternsOf(nodes, " ")}
                set command (string trim "$command $word")
                set at 0
            case ${takersOf(nodes, " ")}
                set value 1
            case "* -*"
            case "*"
                set at (math $at + 1)
        end
    end
    echo $at
end
complete -c portcullis -f
${nodes.flatMap(linesOf).join("\n")}
`;
}

function linesOf(node: Node): string[] {
  const start = `complete -c portcullis -n 'test (__portcullis_command) = "${node.path}"'`;
  const commands = node.commands.map(({ name, help }) => `${start} -a ${name} -d ${quoted(help)}`);
  const options = node.options.map(({ names, help, value }) => {
    const flags = names.map((name) =>
      name.startsWith("--") ? `-l ${name.slice(2)}` : `-s ${name.slice(1)}`,
    );
    return [start, ...flags, ...valueFlags(value), `-d ${quoted(help)}`].join(" ");
  });
  return [...commands, ...options, ...operandsOf(node, start)];
}

function operandsOf({ operands }: Node, start: string): string[] {
  return operands.flatMap((candidates, at) => {
    const operand = operandOf(candidates);
    const place = operands.length < 2 ? start : start.replace(/'$/, `; and test (__portcullis_at) = ${at}'`);
    return operand === null ? [] : [`${place} ${operand}`];
  });
}

/** `-x`: takes a value that is not a file; `-rF`: takes a file. */
function valueFlags(value: Candidates | null): string[] {
  if (value === null) return [];
  if (value === "files") return ["-rF"];
  if (value === "servers" || value === "tunnels" || value === "devices")
    return ["-x", operandOf(value) ?? ""];
  return typeof value === "object" ? ["-x", `-a ${quoted(value.join(" "))}`] : ["-x"];
}

function operandOf(candidates: Candidates): string | null {
  switch (candidates) {
    case "servers":
    case "devices":
    case "exits":
    case "schedules":
    case "tunnels":
      return `-a '(${LISTS[candidates]} 2>/dev/null | string match -v -- "-*")'`;
    case "files":
      return "-F";
    case "anything":
      return null;
    default:
      return `-a ${quoted(candidates.join(" "))}`;
  }
}

/** Text in single quotes for fish. */
function quoted(text: string): string {
  return `'${text.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'`;
}
