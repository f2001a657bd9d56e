/**
 * Whether a failed `bun test` of this output has found a leak: its messages or the expectation that has failed speak of
 * one. The names of tests, where it was called and the lines that Bun quotes before that expectation do not count.
 */
export function hasFoundLeak(output: string): boolean {
  const told: string[] = [];
  let quoted: string[] = [];
  let failed = "";
  for (const line of output.split("\n")) {
    if (/^\((pass|fail|skip|todo)\) |^tests\/|^ {6}at |it does not hold that /.test(line)) continue;
    if (/^ *\d+ \| /.test(line)) {
      // A caret stands below the line that has failed. Its statement may begin some lines above.
      const isBegin = line.includes("expect(");
      quoted = isBegin ? [line] : quoted.length > 0 ? [...quoted, line] : [];
      failed = quoted.length > 0 ? quoted.join("\n") : line;
    } else if (/^ *\^$/.test(line)) {
      told.push(failed);
      quoted = [];
    } else {
      told.push(line);
      quoted = [];
    }
  }
  return /leak/i.test(told.join("\n"));
}
