import { existsSync, mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { version } from "../../../package.json";
import { ARCHITECTURES, type Architecture, HAS_KVM, type Image, newKey, run } from "./image.ts";
import type { Variant } from "./variant.ts";

const BUILT = join(import.meta.dir, "../../../dist/image");
/** Debian's OVMF, without keys of its own: then shim and GRUB are started without a look at their signatures. */
const FIRMWARE = ["/usr/share/OVMF/OVMF_CODE_4M.fd", "/usr/share/OVMF/OVMF_CODE.fd"].find(existsSync) ?? "";
/** Where the first partition begins: see `scripts/image`. */
const FIRST_PARTITION = "1M";
/** A small card is larger than the image. */
const CARD = "2G";

/**
 * An emulated machine's time is what it has done, and not what the others on this one have: else the ten minutes of the claim
 * pass before the page is there, and systemd ends what is slow.
 */
export const PC: Architecture = HAS_KVM
  ? ARCHITECTURES.amd64
  : {
      ...ARCHITECTURES.amd64,
      qemu: [...ARCHITECTURES.amd64.qemu, "-icount", "shift=0,sleep=on"],
      accelerators: ["tcg,thread=single,tb-size=512"],
    };

/** A card with the very image, and on its first partition what a person may put there: a key for SSH. */
export async function flashedImage(kind: NonNullable<Variant["image"]>): Promise<Image> {
  const folder = mkdtempSync(join(tmpdir(), "portcullis-boot-"));
  const image = {
    disk: join(folder, "disk"),
    starts: { firmware: FIRMWARE },
    key: await newKey(folder),
    folder,
  };
  await flash(image, kind);
  return image;
}

/** Writes the card anew. */
export async function flash(image: Image, kind: NonNullable<Variant["image"]>): Promise<void> {
  const from = join(BUILT, `portcullis-${version}-${kind}.img`);
  await run(["cp", "--sparse=always", from, image.disk]);
  await run(["truncate", "-s", CARD, image.disk]);
  await putOnCard(image, `${image.key}.pub`, "authorized_keys");
}

/** What a person does with the card in another computer. */
export function putOnCard({ disk }: Image, file: string, name: string): Promise<void> {
  return run(["mcopy", "-o", "-i", `${disk}@@${FIRST_PARTITION}`, file, `::${name}`]);
}
