/** Lines without a reason: wireguard-go's frame, the marks below an nft error, the last line of `ip -batch`. */
const FRAMES = [
  /^[\u2500-\u257f]/,
  /^[\^~ ]*$/,
  /^Command failed /,
  /^(See "systemctl|Created symlink|Removed|Executing:|Synchronizing state) /,
  /^(# )?warning: |^[WN]: /i,
];
/** How programs mark the reason: `Error: …`, `E: …`, `/dev/stdin:1:2-3: Error: …`, `modprobe: FATAL: …`. */
const MARKED = /(^|: )(Error|ERROR|error|FATAL|E): /;
/** wireguard-go starts each line of its log with the interface and the date. */
const STAMP = /^ERROR: \(\S+\) \S+ \S+ /;
const LONGEST = 300;

/**
 * The line that says why a program has failed; empty if there is none. Programs print the cause first, and then its
 * consequences; wireguard-go prints it on standard output, and a banner on standard error.
 */
export function reasonIn(stderr: string, stdout: string): string {
  const reason = reasonAmong(stderr) ?? reasonAmong(stdout) ?? "";
  return reason.replace(STAMP, "").slice(0, LONGEST);
}

function reasonAmong(text: string): string | undefined {
  const lines = text
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => !FRAMES.some((frame) => frame.test(line)));
  return lines.find((line) => MARKED.test(line)) ?? lines[0];
}
