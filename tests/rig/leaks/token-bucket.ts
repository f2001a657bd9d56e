/** The interface's limits for one client within any second; a little more time for two clocks. */
const LIMITS = { connection: 5, general: 10 } as const;
const WINDOW_MS = 1_050;

/** Keeps requests within the interface's limits; one about the connection counts as any other, too. */
export class TokenBucket {
  private readonly taken: { connection: number[]; general: number[] } = { connection: [], general: [] };

  /** Returns when a request to this path may be made. */
  async turn(path: string): Promise<void> {
    if (!path.startsWith("/api/")) return;
    const isConnection =
      /^\/api\/(connect|disconnect|default-exit|(provider|tunnels|devices|remote\/devices)\/.*)$/.test(path);
    const kinds = isConnection ? (["connection", "general"] as const) : (["general"] as const);
    const now = performance.now();
    const at = Math.max(now, ...kinds.map((kind) => this.free(kind)));
    for (const kind of kinds) this.taken[kind] = [...this.taken[kind], at].slice(-LIMITS[kind]);
    await Bun.sleep(at - now);
  }

  private free(kind: keyof typeof LIMITS): number {
    const times = this.taken[kind];
    return times.length < LIMITS[kind] ? 0 : (times[0] ?? 0) + WINDOW_MS;
  }
}
