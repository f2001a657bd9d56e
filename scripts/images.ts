// Writes what Raspberry Pi Imager reads (its "content repository"): which images there are at an address, and their sizes.
// The images are compressed and in the folder that is named; beside each, the uncompressed size and sum that Imager verifies.
import { statSync } from "node:fs";
import { basename, join } from "node:path";
import { version } from "../package.json";

const [folder = ".", address = ""] = process.argv.slice(2);

interface Kind {
  name: string;
  description: string;
  /** Imager's names of the boards. None for PCs: Imager shows such an image for every board. */
  devices: readonly string[];
}

const KINDS: Record<"pi" | "pc", Kind> = {
  pi: {
    name: "Portcullis for Raspberry Pi",
    description: "WireGuard VPN gateway with a kill switch, for a Raspberry Pi 4, 400, 3B+ or 3B",
    devices: ["pi4-64bit", "pi3-64bit"],
  },
  pc: {
    name: "Portcullis for PC",
    description: "WireGuard VPN gateway with a kill switch, for a PC with UEFI",
    devices: [],
  },
};

const at = (name: string) => `${address.replace(/\/*$/, "/")}${name}`;
const made = new Date(1_000 * Number(process.env.SOURCE_DATE_EPOCH)).toISOString().slice(0, 10);
const list = [];
for (const [kind, about] of Object.entries(KINDS)) {
  const file = join(folder, `portcullis-${version}-${kind}.img.xz`);
  const size = Bun.file(`${file}.size`);
  if (!(await size.exists())) continue;
  const [extract_size, extract_sha256] = (await size.text()).trim().split(" ");
  const sha256 = new Bun.CryptoHasher("sha256").update(await Bun.file(file).arrayBuffer()).digest("hex");
  list.push({
    name: about.name,
    description: about.description,
    icon: at("portcullis.svg"),
    url: at(basename(file)),
    release_date: made,
    extract_size: Number(extract_size),
    extract_sha256,
    image_download_size: statSync(file).size,
    image_download_sha256: sha256,
    // There is no user, no password and no Wi-Fi to set up: the first browser claims the gateway.
    init_format: "none",
    ...(about.devices.length > 0 && { devices: about.devices }),
  });
}
console.log(JSON.stringify({ os_list: list }, null, 2));
