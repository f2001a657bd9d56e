import { afterEach, beforeEach, expect, setDefaultTimeout, test } from "bun:test";
import { Home } from "../http/home.ts";
import { BODY } from "../servers/example.ts";
import { run } from "./program.ts";

// Each command starts the program, and the machine may be busy.
setDefaultTimeout(240_000);

/** With keys of its own. */
const OWN = {
  ...BODY,
  private_key: new Uint8Array(32).fill(8).toBase64(),
  location: "Gothenburg, Sweden",
};

let home: Home;
beforeEach(async () => {
  home = await Home.withRealClock();
  home.parts.catalogue.addCustom(OWN);
});
afterEach(() => home.stop());

const portcullis = (...args: string[]) => run(home.port, args);
const ok = (stdout: string) => ({ code: 0, stdout, stderr: "" });

test("a tunnel is connected, listed, disconnected and removed", async () => {
  expect(await portcullis("tunnel", "tv", "connect", "Sweden")).toEqual(
    ok("The tunnel tv is connected to se-1 (Stockholm, Sweden).\n"),
  );
  expect(await portcullis("tunnel", "main", "connect", OWN.name, "--provider", "custom")).toEqual(
    ok(`The main tunnel is connected to ${OWN.name} (${OWN.location}).\n`),
  );
  expect(await portcullis("tunnels", "--names")).toEqual(ok("main\ntv\n"));
  expect(JSON.parse((await portcullis("tunnels", "--json")).stdout)).toEqual({
    tunnels: await home.parts.overview.rows(),
  });
  expect(await portcullis("tunnel", "tv", "disconnect")).toEqual(ok("The tunnel tv is disconnected.\n"));
  expect(await portcullis("tunnel", "tv", "connect")).toEqual(
    ok("The tunnel tv is connected to se-1 (Stockholm, Sweden).\n"),
  );
  expect(await portcullis("tunnel", "tv", "remove")).toEqual(ok("Removed the tunnel tv.\n"));
  expect(await portcullis("tunnels", "--names")).toEqual(ok("main\n"));
});

test("what is wrong is said, and usage errors have their own exit code", async () => {
  const failed = async (...args: string[]) => {
    const { code, stderr } = await portcullis("tunnel", ...args);
    return [code, stderr.split("\n")[0]];
  };
  expect(await failed("TV", "connect", "se-1")).toEqual([
    1,
    "portcullis: name: must have 1 to 32 of the characters a-z, 0-9 and -",
  ]);
  expect(await failed("tv", "connect", "nowhere")).toEqual([
    1,
    "portcullis: server: there is no server, country or city of this name among the VPN account's servers",
  ]);
  expect(await failed("tv", "remove")).toEqual([1, "portcullis: name: there is no tunnel of this name"]);
  expect(await failed("tv", "connect")).toEqual([
    2,
    "portcullis: missing argument 'server': the tunnel tv led nowhere before, or nothing of that can be had now",
  ]);
  expect((await failed("tv", "disconnect", "se-1"))[0]).toBe(2);
  expect((await failed("tv", "explode"))[0]).toBe(2);
});

test("a speed test says how fast the tunnel is, and the last results are listed", async () => {
  const address = "https://192.0.2.80/100MB.bin";
  home.host.download = async () => ({ bytes: 12_500_000, ms: 1_000 });
  expect(await portcullis("speed-test")).toEqual(
    ok("No speed test was made yet; name an https address to download from.\n"),
  );
  expect((await portcullis("speed-test", address)).stderr).toBe(
    "portcullis: tunnel: main is not connected; connect it first\n",
  );
  await portcullis("tunnel", "tv", "connect", "Sweden");
  expect(await portcullis("speed-test", `${address}?key=1`, "--tunnel", "tv", "--megabytes", "20")).toEqual(
    ok("tv: 100 Mbit/s by se-1 (12.5 MB in 1.0 s)\n"),
  );
  expect(home.host.downloads).toMatchObject([{ mostBytes: 20_000_000, mostMs: 10_000 }]);
  const rows = (await portcullis("speed-test")).stdout.split("\n").map((line) => line.split(/ {2,}/));
  expect(rows).toEqual([
    ["Time", "Tunnel", "Server", "Download", "From"],
    [expect.any(String), "tv", "se-1", "100 Mbit/s", address],
    [""],
  ]);
  expect((await portcullis("speed-test", address, "--seconds", "1s")).code).toBe(2);
});
