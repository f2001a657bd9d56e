import { afterAll, expect } from "bun:test";
import { PAGE_ANSWERS } from "../../src/shared/page-answers.ts";
import { slow } from "../fast.ts";
import { Home } from "./home.ts";

const { test } = slow;

const home = await Home.start();
afterAll(() => home.stop());

const NAMES = PAGE_ANSWERS;

test("one request has what each path answers by itself, and counts once", async () => {
  const { status, json, headers } = await home.send("GET", "/api/page");
  expect(status).toBe(200);
  expect(Object.keys(json).toSorted()).toEqual([...NAMES]);
  expect(headers.get("x-ratelimit-remaining")).toBe("9");
  for (const name of NAMES)
    expect({ name, answer: json[name] }).toEqual({
      name,
      answer: (await home.send("GET", `/api/${name}`)).json,
    });
});

test("only what is asked for is read, and an unknown name is refused", async () => {
  expect(Object.keys((await home.send("GET", "/api/page?of=tunnels+devices+tunnels")).json)).toEqual([
    "tunnels",
    "devices",
  ]);
  const { status, json } = await home.send("GET", "/api/page?of=tunnels+settings");

  expect({ status, error: json.error }).toEqual({ status: 400, error: expect.stringMatching(/^of /) });
});

test("what cannot be read is missing, and its own path says why", async () => {
  home.parts.schedules.list = () => {
    throw new Error("the disk is gone");
  };
  const { status, json } = await home.send("GET", "/api/page?of=schedules+tunnels");
  expect({ status, names: Object.keys(json) }).toEqual({ status: 200, names: ["tunnels"] });
  expect((await home.send("GET", "/api/schedules")).status).toBe(500);
});
