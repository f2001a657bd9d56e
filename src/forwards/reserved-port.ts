/** The UDP port at the server of a tunnel that the gateway itself uses: no device is given it. */
export class ReservedPort {
  private tunnel: string | null = null;
  private insides: readonly number[] = [];

  /** Where packets arrive, or will; nowhere if `tunnel` is null. */
  set(tunnel: string | null, insides: readonly number[]): void {
    this.tunnel = tunnel;
    this.insides = insides;
  }

  has(tunnel: string, inside: number): boolean {
    return this.tunnel === tunnel && this.insides.includes(inside);
  }
}
