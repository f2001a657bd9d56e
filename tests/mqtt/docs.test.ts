import { expect, test } from "bun:test";
import { join } from "node:path";
import { commandIn } from "../../src/mqtt/topics.ts";
import { Status } from "../../src/tunnel/schema.ts";

const page = await Bun.file(join(import.meta.dir, "../../docs/home-assistant.md")).text();
const blocks = [...page.matchAll(/```(\w*)\n(.*?)```/gs)].map(([, language, text]) => ({
  language,
  text: text ?? "",
}));
const recipe = blocks.find(({ text }) => text.startsWith("rest:"))?.text ?? "";

// biome-ignore lint/suspicious/noExplicitAny: it is Home Assistant's to check
const yaml = Bun.YAML.parse(recipe) as any;

test("the recipe without MQTT reads what the status has, at paths that there are", () => {
  const [{ resource, sensor, binary_sensor }] = yaml.rest;
  expect(resource).toEndWith(":5000/api/status");
  const fields = [...sensor, ...binary_sensor].map(
    ({ value_template }) => /value_json\.(\w+)/.exec(value_template)?.[1],
  );
  expect(fields).toHaveLength(5);
  for (const field of fields) expect(Object.keys(Status.properties)).toContain(field ?? "");
});

test("the recipe's commands are requests that there are, and its switch uses them", () => {
  const commands = Object.entries<{ url: string; method: string }>(yaml.rest_command);
  expect(commands.map(([name, { url, method }]) => [name, method, url.split(":5000")[1]])).toEqual([
    ["vpn_connect", "post", "/api/connect"],
    ["vpn_disconnect", "post", "/api/disconnect"],
    ["vpn_exit", "put", "/api/devices/{{ device }}"],
  ]);
  const used = [...recipe.matchAll(/action: rest_command\.(\w+)/g)].map(([, name]) => name);
  expect(used).toEqual(["vpn_connect", "vpn_disconnect"]);
});

test("the ACL lets the gateway read the topics of its commands", () => {
  const filters = [...page.matchAll(/^topic read (portcullis\S+)$/gm)].map(
    ([, filter]) => filter?.split("/") ?? [],
  );
  const topics = ["gateway/exit", "tunnel/main/server", "device/02-00-00-00-00-20/exit"].map(
    (end) => `portcullis/pi/${end}/set`,
  );
  for (const topic of topics) {
    expect(commandIn("pi", topic)).not.toBeNull();
    const levels = topic.split("/");
    const isAllowed = (filter: string[]) =>
      filter.length === levels.length &&
      filter.every((level, index) => level === "+" || level === levels[index]);
    expect({ topic, allowed: filters.some(isAllowed) }).toEqual({ topic, allowed: true });
  }
});
