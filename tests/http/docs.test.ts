import { afterAll, expect } from "bun:test";
import { Validator } from "@seriousme/openapi-schema-validator";
import { Compile } from "typebox/compile";
import { SCHEMAS } from "../../src/http/schema-names.ts";
import { slow } from "../fast.ts";
import { Home } from "./home.ts";

const { test } = slow;

const home = await Home.start();
const send: Home["send"] = (...asked) => home.send(...asked);
afterAll(() => home.stop());

const document = async () => (await send("GET", "/swagger/json")).json;

// The document itself is tests/golden/openapi.txt; here is what each part of it has to obey.

/** Answers of the routes outside `/api`, and those of them that are plain text. */
const OTHERS: Record<string, { codes: string[]; plain: string[] }> = {
  "/health": { codes: ["200", "403", "500"], plain: ["200", "500"] },
  "/metrics": { codes: ["200", "401", "403", "429", "500"], plain: ["200"] },
  "/ws": { codes: ["101", "4XX", "default"], plain: [] },
};

interface Operation {
  operationId: string;
  summary: string;
  description: string;
  tags: string[];
  requestBody?: { content: Record<string, { schema: { $ref?: string } }> };
  responses: Record<
    string,
    { description: string; content: Record<string, { schema: { type?: string; $ref?: string } }> }
  >;
}

const operations = async () => {
  const { paths } = await document();
  return Object.entries<Record<string, Operation>>(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({
      endpoint: `${method} ${path}`,
      path,
      operation,
    })),
  );
};

test("each operation is named by a verb and a noun, once, and is described", async () => {
  const { tags } = await document();
  const described = tags.map(({ name, description }: Record<string, string>) => description && name);
  const ids = new Set<string>();
  for (const { endpoint, operation } of await operations()) {
    const { operationId, summary, description, tags } = operation;
    expect({ endpoint, operationId }).toEqual({
      endpoint,
      operationId: expect.stringMatching(/^[a-z]+([A-Z][a-z]+)*$/),
    });
    expect({ endpoint, isNew: !ids.has(operationId) }).toEqual({ endpoint, isNew: true });
    ids.add(operationId);
    expect(summary.length).toBeLessThan(70);
    expect(description).toMatch(/^[A-Z`0-9].*\.$/);
    expect(described).toContain(tags[0]);
  }
});

test("each body has a name, and each endpoint has the answers that all have in common", async () => {
  const { components } = await document();
  const isNamed = (schema?: { $ref?: string }) =>
    components.schemas[schema?.$ref?.replace("#/components/schemas/", "") ?? ""] !== undefined;
  for (const { endpoint, path, operation } of await operations()) {
    const { requestBody, responses } = operation;
    const codes = OTHERS[path]?.codes ?? ["200", "4XX", "5XX"];
    expect({ endpoint, codes: Object.keys(responses) }).toEqual({ endpoint, codes });
    for (const content of Object.values(requestBody?.content ?? {}))
      expect({ endpoint, isNamed: isNamed(content.schema) }).toEqual({ endpoint, isNamed: true });
    for (const [code, response] of Object.entries(responses)) {
      const { description, content } = resolved(response, components);
      expect(description).toBeString();
      const type = OTHERS[path]?.plain.includes(code) ? "text/plain" : "application/json";
      expect(Object.keys(content)).toEqual([type]);
      const schema = content[type]?.schema;
      if (type === "text/plain") expect(schema?.type).toBe("string");
      else expect({ endpoint, code, isNamed: isNamed(schema) }).toEqual({ endpoint, code, isNamed: true });
    }
  }
  for (const name of ["Done", "Refused", "Failed"])
    expect(Object.keys(components.responses[name].headers)).toContain("X-RateLimit-Remaining");
  expect(Object.keys(components.responses.Refused.headers)).toContain("Retry-After");
});

function resolved<Response>(
  response: Response & { $ref?: string },
  { responses }: Record<string, Record<string, Response>>,
) {
  return { ...responses?.[response.$ref?.replace("#/components/responses/", "") ?? ""], ...response };
}

test("the document has nothing that it does not use, and uses nothing that it does not have", async () => {
  const { components, ...rest } = await document();
  const uses = new Set(JSON.stringify({ components, ...rest }).match(/(?<=#\/components\/)\w+\/\w+/g));
  const has = Object.entries<object>(components).flatMap(([kind, all]) =>
    Object.keys(all).map((name) => `${kind}/${name}`),
  );
  // Operations name it without a reference.
  expect([...uses, "securitySchemes/token"].sort()).toEqual(has.sort());
});

test("each schema has one name", () => {
  const texts = Object.entries<object>(SCHEMAS).map(([name, schema]) => ({
    name,
    text: JSON.stringify({ ...schema, description: undefined }),
  }));
  const groups = Object.values(Object.groupBy(texts, ({ text }) => text));
  expect(groups.filter((group) => group?.length !== 1)).toEqual([]);
});
test("each message of /ws is a schema of its own, named as its type", async () => {
  const { paths, components } = await document();
  const { schema } = paths["/ws"].get.responses[101].content["application/json"];
  expect(schema).toEqual({ $ref: "#/components/schemas/Event" });
  const { oneOf, discriminator } = components.schemas.Event;
  expect(discriminator).toEqual({ propertyName: "type" });
  expect(oneOf.length).toBeGreaterThan(15);
  for (const { $ref } of oneOf) {
    const name = $ref.replace("#/components/schemas/", "");
    const { properties, required } = components.schemas[name];
    expect(properties).toMatchObject({ type: { const: name } });
    expect(required).toEqual(["type", "payload", "stale"]);
  }
  expect(components.schemas.status_change.properties.payload).toEqual({
    $ref: "#/components/schemas/Status",
  });
});

test("the document points to no other host", async () => {
  expect(JSON.stringify(await document())).not.toContain("://");
});

test("the document is valid OpenAPI", async () => {
  expect(await new Validator().validate(await document())).toEqual({ valid: true });
});

test("each example in the document fits its schema", async () => {
  const whole = await document();
  const found = examplesIn(whole);
  for (const { schema, example } of found) {
    const { components } = whole;
    expect({ example, fits: Compile(inlined(schema, components.schemas)).Check(example) }).toEqual({
      example,
      fits: true,
    });
  }
  expect(found.length).toBeGreaterThan(60);
});

/** Every example with its schema: of a body, of a parameter, or in the schema itself. */
function examplesIn(node: unknown): { schema: object; example: unknown }[] {
  if (typeof node !== "object" || node === null) return [];
  const { examples, schema = {} } = node as { examples?: object; schema?: object };
  const own = Array.isArray(examples)
    ? examples.map((example) => ({ schema: node, example }))
    : Object.values(examples ?? {}).map(({ value }) => ({ schema, example: value }));
  return [...own, ...Object.values(node).flatMap(examplesIn)];
}

/** The same schema without references. */
function inlined(node: unknown, schemas: Record<string, object>): object {
  if (typeof node !== "object" || node === null) return node as never;
  if (Array.isArray(node)) return node.map((each) => inlined(each, schemas));
  const { $ref, ...rest } = node as { $ref?: string };
  const target = $ref === undefined ? {} : inlined(schemas[$ref.replace(/.*\//, "")], schemas);
  return {
    ...target,
    ...Object.fromEntries(Object.entries(rest).map(([key, each]) => [key, inlined(each, schemas)])),
  };
}

const PAGE = "/swagger";
const FILES = {
  "/swagger": "text/html",
  "/swagger/": "text/html",
  "/swagger/init.js": "text/javascript",
  "/swagger/swagger-ui-bundle.js": "text/javascript",
  "/swagger/swagger-ui.css": "text/css",
  "/swagger/swagger-ui-bundle.js.LICENSE.txt": "text/plain",
  "/swagger/LICENSE": "text/plain",
};

test("the page is whole: each address in it is the gateway's own and answers with its type", async () => {
  const html = (await send("GET", PAGE)).text;
  const addresses = [...html.matchAll(/(?:src|href)="([^"]*)"/g)].map(([, address]) => address);
  expect(addresses.filter((address) => address !== "data:,").sort()).toEqual([
    "/swagger/init.js",
    "/swagger/swagger-ui-bundle.js",
    "/swagger/swagger-ui.css",
  ]);
  for (const [path, type] of Object.entries(FILES)) {
    const { status, headers, text } = await send("GET", path);
    expect({ path, status, type: headers.get("content-type") }).toEqual({
      path,
      status: 200,
      type: `${type}; charset=utf-8`,
    });
    expect(Buffer.byteLength(text)).toBe(Number(headers.get("content-length")));
  }
});

test("the page may load and run nothing but the gateway's own files", async () => {
  for (const path of Object.keys(FILES)) {
    const { headers } = await send("GET", path);
    expect(headers.get("content-security-policy")).toBe(
      "default-src 'none'; script-src 'self'; style-src 'self'; img-src data:; connect-src 'self'; " +
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    );
    expect(headers.get("x-content-type-options")).toBe("nosniff");
    expect(headers.get("x-frame-options")).toBe("DENY");
  }
});

test("a browser that has a file is told so, and one that has another version gets the new one", async () => {
  const tags = new Set<string | null>();
  for (const path of Object.keys(FILES)) {
    const { headers } = await send("GET", path);
    const tag = headers.get("etag") ?? "";
    tags.add(tag);
    expect(headers.get("cache-control")).toBe("no-cache");
    for (const known of [tag, `W/${tag}`, `"other", ${tag}`]) {
      const again = await send("GET", path, undefined, { "If-None-Match": known });
      expect([again.status, again.text, again.headers.get("etag")]).toEqual([304, "", tag]);
    }
    expect((await send("GET", path, undefined, { "If-None-Match": '"other"' })).status).toBe(200);
  }
  expect(tags.size).toBe(Object.keys(FILES).length - 1);
});
