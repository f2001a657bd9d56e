import type { Candidates, Node } from "./node.ts";
import { patternsOf } from "./patterns.ts";

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
function __portcullis_operands
    set -l command ""
    set -l operands 0
    for word in (commandline -opc)[2..]
        switch "$command $word"
            case ${patternsOf(nodes, " ")}
                set command (string trim "$command $word")
            case '* -*'
            case '*'
                set operands (math $operands + 1)
        end
    end
    echo $operands
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
  return [...commands, ...options, ...operandLines(node, start)];
}

function operandLines({ path, operands }: Node, start: string): string[] {
  return operands.flatMap((each, at) => {
    const operand = operandOf(each);
    const count = `test (__portcullis_operands) ${at === operands.length - 1 ? "-ge" : "-eq"} ${at}`;
    const where =
      operands.length === 1
        ? start
        : `complete -c portcullis -n 'test (__portcullis_command) = "${path}"; and ${count}'`;
    return operand === null ? [] : [`${where} ${operand}`];
  });
}

/** `-x`: takes a value that is not a file; `-rF`: takes a file. */
function valueFlags(value: Candidates | null): string[] {
  if (value === null) return [];
  if (value === "files") return ["-rF"];
  return typeof value === "object" ? ["-x", `-a ${quoted(value.join(" "))}`] : ["-x"];
}

function operandOf(candidates: Candidates): string | null {
  switch (candidates) {
    case "servers":
      return `-a '(portcullis servers --places --names 2>/dev/null | string match -v -- "-*")'`;
    case "tunnels":
      return "-a '(portcullis tunnels --names 2>/dev/null)'";
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
