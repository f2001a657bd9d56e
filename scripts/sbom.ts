// Prints a bill of materials (CycloneDX 1.6, JSON) of what is inside the executable. SOURCE_DATE_EPOCH dates it.
import { createHash } from "node:crypto";
import { Contrib, Enums, Models, Serialize, Spec } from "@cyclonedx/cyclonedx-library";
import parseExpression from "spdx-expression-parse";
import { version } from "../package.json";
import { BUN_PARTS } from "../src/licenses/bun.ts";
import { notices } from "../src/licenses/notices.ts";

const { Component } = Models;
const licenses = new Contrib.License.Factories.LicenseFactory(parseExpression);
const library = (name: string, license: string, rest: { version?: string; purl?: string } = {}) => {
  const component = new Component(Enums.ComponentType.Library, name, {
    ...rest,
    bomRef: rest.purl ?? name,
  });
  component.licenses.add(licenses.makeFromString(license));
  return component;
};

const npm = notices().map(({ name, version, license }) => {
  const purl = `pkg:npm/${name.replace("@", "%40")}@${version}`;
  return library(name, license, { version, purl });
});
const bun = library("bun", "MIT", { version: Bun.version, purl: `pkg:npm/bun@${Bun.version}` });
const parts = BUN_PARTS.map(([name, license]) => library(name, license));

const portcullis = new Component(Enums.ComponentType.Application, "portcullis", {
  version,
  bomRef: "portcullis",
});
portcullis.licenses.add(licenses.makeFromString("MIT"));
for (const component of [...npm, bun]) portcullis.dependencies.add(component.bomRef);
for (const part of parts) bun.dependencies.add(part.bomRef);

const bom = new Models.Bom({
  components: new Models.ComponentRepository([...npm, bun, ...parts]),
  metadata: new Models.Metadata({
    component: portcullis,
    timestamp: new Date(Number(process.env.SOURCE_DATE_EPOCH ?? 0) * 1000),
  }),
});
const normalizer = new Serialize.JSON.Normalize.Factory(Spec.Spec1dot6);
const text = new Serialize.JsonSerializer(normalizer).serialize(bom, { sortLists: true, space: 2 });
// A random one would differ from build to build: this one is a digest of the contents (RFC 9562, version 8).
const digest = createHash("sha256").update(text).digest("hex");
const uuid = `${digest.slice(0, 8)}-${digest.slice(8, 12)}-8${digest.slice(13, 16)}-8${digest.slice(17, 20)}-${digest.slice(20, 32)}`;
process.stdout.write(
  `${JSON.stringify({ ...JSON.parse(text), serialNumber: `urn:uuid:${uuid}` }, null, 2)}\n`,
);
