import { existsSync, mkdtempSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { version } from "../../../package.json";
import { makeShelf } from "./contained.ts";
import { ARCHITECTURES, type Architecture, HAS_KVM, type Image, newKey, run } from "./image.ts";
import { variantToTest } from "./variant.ts";

const { image: KIND_TO_TEST, contained: CONTAINED } = variantToTest();
const KIND = KIND_TO_TEST ?? "pc";
const BUILT = join(import.meta.dir, `../../../dist/image/portcullis-${version}-${KIND}.img`);
/** Debian's OVMF, without keys of its own: then shim and GRUB are started without a look at their signatures. */
const FIRMWARE = ["/usr/share/OVMF/OVMF_CODE_4M.fd", "/usr/share/OVMF/OVMF_CODE.fd"].find(existsSync) ?? "";
/** Where the first partition begins: see `scripts/image`. */
const FIRST_PARTITION = "1M";
/** A small card is larger than the image. */
const CARD = "2G";

/** What the image is for, or nearly: QEMU has no Raspberry Pi 4, so that image starts on a board that has its processor. */
export const MACHINE: Architecture = {
  pc: HAS_KVM ? ARCHITECTURES.amd64 : unhurried(ARCHITECTURES.amd64),
  pi: unhurried(ARCHITECTURES.arm64),
}[KIND];

/**
 * An emulated machine's time is what it has done, and not what the others on this one have: else the ten minutes of the claim
 * pass before the page is there, and systemd ends what is slow.
 */
function unhurried(machine: Architecture): Architecture {
  return {
    ...machine,
    qemu: [...machine.qemu, "-icount", "shift=0,sleep=on"],
    accelerators: ["tcg,thread=single,tb-size=512"],
  };
}

/** A card with the very image, and on its first partition what a person may put there: a key for SSH. */
export async function flashedImage(): Promise<Image> {
  const folder = mkdtempSync(join(tmpdir(), "portcullis-boot-"));
  if (CONTAINED) await makeShelf(folder);
  const image: Image = {
    disk: join(folder, "disk"),
    starts: await starts(folder),
    key: await newKey(folder),
    folder,
  };
  await flash(image);
  return image;
}

async function starts(folder: string): Promise<Image["starts"]> {
  if (CONTAINED) return "contained";
  return KIND === "pc" ? { firmware: FIRMWARE } : asConfigured(folder);
}

/** As the firmware of a Raspberry Pi reads it on the first partition. */
async function asConfigured(folder: string): Promise<Image["starts"]> {
  const take = (...names: string[]) =>
    run(["mcopy", "-n", "-i", `${BUILT}@@${FIRST_PARTITION}`, ...names.map((name) => `::${name}`), folder]);
  await take("config.txt", "cmdline.txt");
  const config = readFileSync(join(folder, "config.txt"), "utf8");
  const [, kernel = ""] = /^kernel=(.+)$/m.exec(config) ?? [];
  const [, initrd = ""] = /^initramfs (.+)$/m.exec(config) ?? [];
  await take(kernel, initrd);
  const options = readFileSync(join(folder, "cmdline.txt"), "utf8").trim();
  return { kernel: join(folder, kernel), initrd: join(folder, initrd), options };
}

/** Writes the card anew. */
export async function flash(image: Image): Promise<void> {
  await run(["cp", "--sparse=always", BUILT, image.disk]);
  await run(["truncate", "-s", CARD, image.disk]);
  await putOnCard(image, `${image.key}.pub`, "authorized_keys");
}

/** What a person does with the card in another computer. */
export function putOnCard({ disk }: Image, file: string, name: string): Promise<void> {
  return run(["mcopy", "-o", "-i", `${disk}@@${FIRST_PARTITION}`, file, `::${name}`]);
}
