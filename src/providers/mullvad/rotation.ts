import { messageOf } from "../../base/errors.ts";
import { generateKeyPair, publicKeyOf } from "../../wireguard/key.ts";
import { Refusal } from "../answers.ts";
import { refused } from "../refusals.ts";
import type { MullvadDevice } from "./answers.ts";
import type { MullvadSession } from "./api.ts";
import { isFinal } from "./refusal.ts";
import type { MullvadRegistration } from "./registration.ts";

type Save = (registration: MullvadRegistration) => Promise<void>;

/**
 * Gives the registration a new key. The key is saved before it is sent: whatever fails in between, the provider's key is
 * stored here, and the next rotation finds out which one that is.
 */
export async function rotated(
  session: MullvadSession,
  registration: MullvadRegistration,
  save: Save,
): Promise<MullvadRegistration> {
  if (registration.newKey !== undefined) {
    const { newKey } = registration;
    const last = settled(registration, await present(session, registration.id));
    await save(last);
    if (last.privateKey === newKey) return last;
    return rotated(session, last, save);
  }
  const prepared = { ...registration, newKey: generateKeyPair().privateKey };
  await save(prepared);
  const next = settled(prepared, await replaced(session, prepared, () => save(registration)));
  await save(next);
  return next;
}

/** The registration with the provider's key, name and addresses; a new key that the provider does not have is dropped. */
export function settled(
  { newKey, ...registration }: MullvadRegistration,
  device: MullvadDevice,
): MullvadRegistration {
  const taken = newKey !== undefined && publicKeyOf(newKey) === device.publicKey;
  const { name, addresses } = device;
  return { ...registration, name, addresses, ...(taken && { privateKey: newKey }) };
}

/** If a failure leaves open whether the provider took the key, asks it which one it has. */
async function replaced(
  session: MullvadSession,
  { id, newKey = "" }: MullvadRegistration,
  undo: () => Promise<void>,
): Promise<MullvadDevice> {
  const publicKey = publicKeyOf(newKey);
  try {
    return await session.replaceKey(id, publicKey);
  } catch (error) {
    const device = isFinal(error) ? null : await present(session, id).catch(() => undecided(error));
    if (device?.publicKey === publicKey) return device;
    await undo();
    throw error;
  }
}

async function present(session: MullvadSession, id: string): Promise<MullvadDevice> {
  const device = await session.device(id);
  if (device === null) throw new Refusal("DEVICE_NOT_FOUND", refused("registration_gone"));
  return device;
}

function undecided(error: unknown): never {
  throw refused("key_undecided", { reason: messageOf(error) });
}
