import { GatewayError, messageOf } from "../../errors.ts";
import { generateKeyPair, publicKeyOf } from "../../wireguard/key.ts";
import type { ProvidedDevice } from "./answers.ts";
import type { MullvadAccount } from "./api.ts";
import { isFinal, Refusal } from "./refusal.ts";
import type { Registration } from "./registration.ts";
import { GONE } from "./shown.ts";

type Save = (device: Registration) => void;

/**
 * Gives the device another key. That key is saved before the provider hears of it: whatever fails in between, the
 * key that the provider has is here, and the next rotation finds out which one it is.
 */
export async function rotated(
  account: MullvadAccount,
  device: Registration,
  save: Save,
): Promise<Registration> {
  if (device.newKey !== undefined) {
    const { newKey } = device;
    const last = settled(device, await present(account, device.id));
    save(last);
    if (last.privateKey === newKey) return last;
    return rotated(account, last, save);
  }
  const prepared = { ...device, newKey: generateKeyPair().privateKey };
  save(prepared);
  const next = settled(prepared, await replaced(account, prepared, () => save(device)));
  save(next);
  return next;
}

/** The device with the key, the name and the addresses that the provider has; a new key that it has not is dropped. */
export function settled({ newKey, ...device }: Registration, provided: ProvidedDevice): Registration {
  const taken = newKey !== undefined && publicKeyOf(newKey) === provided.publicKey;
  const { name, addresses } = provided;
  return { ...device, name, addresses, ...(taken && { privateKey: newKey }) };
}

/** After a failure that leaves open whether the provider has taken the key, it is asked which one it has. */
async function replaced(
  account: MullvadAccount,
  { id, newKey = "" }: Registration,
  undo: () => void,
): Promise<ProvidedDevice> {
  const publicKey = publicKeyOf(newKey);
  try {
    return await account.replaceKey(id, publicKey);
  } catch (error) {
    const provided = isFinal(error) ? null : await present(account, id).catch(() => undecided(error));
    if (provided?.publicKey === publicKey) return provided;
    undo();
    throw error;
  }
}

async function present(account: MullvadAccount, id: string): Promise<ProvidedDevice> {
  const provided = await account.device(id);
  if (provided === null) throw new Refusal("DEVICE_NOT_FOUND", GONE);
  return provided;
}

function undecided(error: unknown): never {
  throw new GatewayError(
    "unable",
    `${messageOf(error)}; which key the provider has now is not known, and connecting may fail: try again`,
  );
}
