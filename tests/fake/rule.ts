/** `ip -j rule show` of what `ip rule add` was told. */
export function ruleJson(text: string): unknown {
  const words = text.split(" ");
  const after = (word: string) => (words.includes(word) ? words[words.indexOf(word) + 1] : undefined);
  const [dst, dstlen] = after("to")?.split("/") ?? [];
  const number = (word: string) => (after(word) === undefined ? {} : { [word]: Number(after(word)) });
  return {
    ...number("priority"),
    src: "all",
    ...(dst === undefined ? {} : { dst, ...(dstlen === undefined ? {} : { dstlen: Number(dstlen) }) }),
    ...markIn(after("fwmark")),
    ...(after("iif") === undefined ? {} : { iif: after("iif") }),
    ...(after("oif") === undefined ? {} : { oif: after("oif") }),
    ...(after("suppress_prefixlength") === undefined
      ? {}
      : { suppress_prefixlen: Number(after("suppress_prefixlength")) }),
    ...(after("ipproto") === undefined ? {} : { ipproto: after("ipproto") }),
    ...number("sport"),
    ...number("dport"),
    ...(after("lookup") === undefined ? { action: words.at(-1) } : { table: after("lookup") }),
  };
}

/** `ip` prints mark and mask apart. */
function markIn(text: string | undefined): { fwmark?: string; fwmask?: string } {
  const [fwmark, fwmask] = text?.split("/") ?? [];
  return { ...(fwmark === undefined ? {} : { fwmark }), ...(fwmask === undefined ? {} : { fwmask }) };
}
