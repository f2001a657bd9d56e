/** What the LAN may be with this uplink, as texts: the present ports, all others, or one cable. */
export function lansWith(uplink: string, names: readonly string[], present: readonly string[]): string[] {
  const others = names.filter((name) => name !== uplink);
  const isPossible = present.every((name) => others.includes(name));
  return [...new Set([...(isPossible ? [present.join()] : []), others.join(), uplink])].filter(Boolean);
}
