import type { Host, RunOptions } from "./host.ts";

/** An object of a listing, as `nft -j` prints it (libnftables-json(5)): the fields that the gateway reads. */
export interface NftObject {
  table?: { family: string; name: string; handle: number };
  chain?: { family: string; table: string; name: string; type?: string; hook?: string; policy?: string };
  rule?: { family: string; table: string; chain: string };
  quota?: { name: string; used?: number };
  counter?: { name: string; bytes?: number };
  set?: { name: string; elem?: { elem?: NftElement }[] };
}

export interface NftElement {
  val?: unknown;
  /** Seconds until the kernel removes it. */
  expires?: number;
  counter?: { bytes?: number };
}

/** `nft list`, with what is to be listed. */
export async function listNft(
  host: Pick<Host, "run">,
  what: readonly string[],
  options?: RunOptions,
): Promise<NftObject[]> {
  const json = await host.run(["nft", "-j", "list", ...what], options);
  // It prints nothing where there is nothing.
  const { nftables } = JSON.parse(json || '{"nftables":[]}') as { nftables: NftObject[] };
  return nftables;
}
