import { afterAll, afterEach, beforeEach, expect } from "bun:test";
import { GatewayError } from "../../src/base/errors.ts";
import { slow } from "../fast.ts";
import { Home } from "./home.ts";
import { type Answer, request } from "./wire.ts";

const { test } = slow;

const home = await Home.start();
const { host, faults } = home;
const send: Home["send"] = (...asked) => home.send(...asked);
const connect = (server = "se-1") => send("POST", "/api/connect", { server });
afterAll(() => home.stop());
beforeEach(() => {
  faults.length = 0;
});
afterEach(async () => {
  host.onEvent = () => {};
  await home.parts.tunnels.supervisor.look();
  await home.parts.controller.repair();
});

/** Each command that begins so fails like this. */
function failWith(error: unknown, start = ""): void {
  host.onEvent = (command) => {
    if (command !== "sleep" && command.startsWith(start)) throw error;
  };
}

function expectRefusal(answer: Answer, status: number, error: string) {
  expect(answer.json).toEqual({ success: false, error });
  expect(answer.status).toBe(status);
  expect(answer.headers.get("content-type")).toBe("application/json");
}

test("the reason is in a header, for programs", async () => {
  expect((await home.send("GET", "/api/nope")).headers.get("error-code")).toBe("not_found");
  const refused = await home.send("PUT", "/api/tunnels/main", { server: 1 });
  expect(refused.headers.get("error-code")).toBe("bad_request");
  expect((await home.send("GET", "/api/status")).headers.get("error-code")).toBeNull();
});

test("an unknown path is 404", async () => {
  for (const path of [
    "/index.html",
    "/dashboard",
    "/dashboard/",
    "/dashboard/x",
    "/api",
    "/api/",
    "/nope",
    "/api/nope",
    "/API/status",
    "/ws/",
    "/swagger/x",
  ]) {
    expectRefusal(await send("GET", path), 404, `not found: GET ${path}`);
  }
});

test("a trailing slash and a doubled one make another path", async () => {
  for (const path of ["/api/status/", "/api/servers/", "/health/", "/api//status", "//api/status"]) {
    expectRefusal(await send("GET", path), 404, `not found: GET ${path}`);
  }
  expectRefusal(await send("DELETE", "/api/custom/remove/"), 404, "not found: DELETE /api/custom/remove/");
  expectRefusal(await send("POST", "/api/provider/"), 404, "not found: POST /api/provider/");
});

test("a wrong method is 404", async () => {
  const wrong = [
    ["POST", "/api/status"],
    ["GET", "/api/connect"],
    ["PUT", "/api/disconnect"],
    ["GET", "/api/provider/custom"],
    ["GET", "/api/custom/remove/home"],
    ["DELETE", "/api/custom/add"],
    ["PATCH", "/api/import"],
    ["OPTIONS", "/api/keypair"],
    ["OPTIONS", "/health"],
    ["TRACE", "/api/status"],
    ["PROPFIND", "/api/servers"],
  ] as const;
  for (const [method, path] of wrong) {
    expectRefusal(await send(method, path), 404, `not found: ${method} ${path}`);
  }
});

test("HEAD is 404 without a body", async () => {
  for (const path of ["/api/status", "/api/keypair", "/health", "/swagger/json", "/nope"]) {
    const { status, text } = await send("HEAD", path);
    expect({ path, status, text }).toEqual({ path, status: 404, text: "" });
  }
});

test("an unknown provider is a 400 that says which there are", async () => {
  for (const name of ["nope", "Managed", "__proto__", "%20managed", "..", "managed%00"]) {
    const answer = await send("POST", `/api/provider/${name}`);
    expectRefusal(answer, 400, "provider must be managed, custom or imported");
  }
});

test("an encoded slash or control character in a path is a 400 that says so", async () => {
  const error = "the path holds an encoded slash (%2F), which no name has";
  expectRefusal(await send("DELETE", "/api/custom/remove/a%2Fb"), 400, error);
  expectRefusal(await send("DELETE", "/api/custom/remove/..%2f.."), 400, error);
  const control = "name: contains a control character";
  expectRefusal(await send("DELETE", "/api/custom/remove/a%00"), 400, control);
});

test("percent-encoding that is malformed or no UTF-8 is a 400 that says so", async () => {
  for (const name of ["%", "%zz", "a%2", "%ff", "%c3%28", "%ed%a0%80", "%e2%82"]) {
    const answer = await send("DELETE", `/api/custom/remove/${name}`);
    expectRefusal(answer, 400, "the path is not valid percent-encoded UTF-8");
  }
});

test("each code of a GatewayError has its status", async () => {
  expectRefusal(await connect(" "), 400, "server: begins or ends with white space");
  const foreign = await send("GET", "/api/status", undefined, { Host: "evil.example" });
  expectRefusal(foreign, 403, "Host must be this gateway's address or name; further names are set by --name");
  const nowhere = "server: there is no server, country or city of this name among the VPN account's servers";
  expectRefusal(await connect("nowhere"), 404, nowhere);
  for (let count = 0; count < 10; count++) await home.again("GET", "/api/status");
  const many = "too many requests: see the X-RateLimit headers and Retry-After";
  expectRefusal(await home.again("GET", "/api/status"), 429, many);
  const failures = [
    "no_answer",
    "interrupted",
    "kernel_refused",
    "storage_full",
    "timed_out",
    "unable",
  ] as const;
  for (const code of failures) {
    failWith(new GatewayError(code, "as the machine says"));
    expectRefusal(await connect(), 500, "as the machine says");
  }
});

test("what the gateway could not do is in the log with its cause", async () => {
  const cause = new GatewayError("unable", "wg: exit 1");
  failWith(new GatewayError("unable", "no handshake in time", { cause }), "wg setconf");
  await connect();
  expect(faults).toEqual(["POST /api/connect: no handshake in time, because wg: exit 1"]);
});

test("a fault of our own is an internal error to the client, and its stack goes to the log", async () => {
  for (const thrown of [
    new Error("boom"),
    new TypeError("boom"),
    Object.assign(new Error("boom"), { code: "VALIDATION", status: 418 }),
  ]) {
    faults.length = 0;
    failWith(thrown);
    expectRefusal(await connect(), 500, "internal error");
    expect(faults).toHaveLength(1);
    expect(faults[0]).toContain("boom");
  }
  failWith("a string");
  expectRefusal(await connect(), 500, "internal error");
});

test("an answer that does not fit its schema is an internal error", async () => {
  await home.connect();
  const { alerts } = home.parts;
  alerts.damage = 7 as unknown as string;
  const answer = await send("GET", "/api/status");
  alerts.damage = null;
  expectRefusal(answer, 500, "internal error");
  expect(faults).toEqual([
    "GET /api/status: the answer does not fit its schema: error must be a string or null",
  ]);
});

test("a failing health check is an internal error", async () => {
  failWith(new TypeError("no rules"), "ip -j -4 rule");
  expectRefusal(await send("GET", "/health"), 500, "internal error");
});

test("an error does not keep the next request of the same connection from being answered", async () => {
  await home.pass(1_000);
  const first = request("GET", "/nope", undefined, { Connection: "keep-alive" });
  const answer = await home.raw(Buffer.concat([first, request("GET", "/health")]));
  expect(answer.status).toBe(404);
  expect(answer.rest).toEndWith("healthy");
});

test("a very long path is cut in the answer and in the log", async () => {
  const { status, json } = await send("GET", `/${"a".repeat(5_000)}`);
  expect(status).toBe(404);
  expect(json.error).toHaveLength("not found: GET ".length + 801);
  expect(home.lines.at(-1)).toHaveLength("GET ".length + 801 + " 404".length);
});
