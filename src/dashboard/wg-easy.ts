import { clientFile } from "../remote/client-file.ts";
import type { AddedRemoteDevice } from "../remote/schema.ts";
import type { WgEasyClient } from "../shared/wg-easy.ts";
import { publicKeyOf } from "../wireguard/key.ts";

/** What came of a client: its new file, or why it cannot come in. */
export type Outcome = { name: string } & ({ file: string } | { fault: string });

/** The private key stays here: the gateway gets the public one that belongs to it. */
export async function outcomeOf(
  { name, privateKey }: WgEasyClient,
  add: (device: { name: string; public_key: string }) => Promise<AddedRemoteDevice>,
): Promise<Outcome> {
  try {
    const added = await add({ name, public_key: publicKeyOf(privateKey) });
    return { name, file: clientFile(added, privateKey, "everything") };
  } catch (error) {
    return { name, fault: error instanceof Error ? error.message : String(error) };
  }
}
