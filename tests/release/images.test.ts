import { expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { version } from "../../package.json";

test("Raspberry Pi Imager's list has each image that is there, with the sums that Imager verifies", () => {
  const folder = mkdtempSync(join(tmpdir(), "portcullis-images-"));
  const name = `portcullis-${version}-pi.img.xz`;
  writeFileSync(join(folder, name), "compressed");
  writeFileSync(join(folder, `${name}.size`), `699400192 ${"ab".repeat(32)}\n`);
  const { stdout, exitCode } = Bun.spawnSync(
    [process.execPath, "scripts/images.ts", folder, "https://images.test/v1"],
    { env: { ...process.env, SOURCE_DATE_EPOCH: "1764460800" } },
  );
  rmSync(folder, { recursive: true });
  expect(exitCode).toBe(0);
  expect(JSON.parse(stdout.toString()).os_list).toEqual([
    {
      name: "Portcullis for Raspberry Pi",
      description: "WireGuard VPN gateway with a kill switch, for a Raspberry Pi 4, 400, 3B+ or 3B",
      icon: "https://images.test/v1/portcullis.svg",
      url: `https://images.test/v1/${name}`,
      release_date: "2025-11-30",
      extract_size: 699_400_192,
      extract_sha256: "ab".repeat(32),
      image_download_size: 10,
      image_download_sha256: new Bun.CryptoHasher("sha256").update("compressed").digest("hex"),
      init_format: "none",
      devices: ["pi4-64bit", "pi3-64bit"],
    },
  ]);
});
