import { Type } from "typebox";
import { CustomServer, ImportedConfig, ImportedPlace, type Stored } from "../servers/schema.ts";
import { generateKeyPair } from "../wireguard/key.ts";
import { answers, DONE } from "./answers.ts";
import type { Domain } from "./domain.ts";
import { refused } from "./refusals.ts";
import { route } from "./route.ts";
import { Imported, KeyPair } from "./schema.ts";

/** The keys are from wg(8). */
export const CUSTOM_EXAMPLE: CustomServer = {
  name: "home",
  endpoint: "203.0.113.11:51820",
  public_key: "xTIBA5rboUvnH4htodjb6e697QjLERt1NAB4mZqp8Dg=",
  private_key: "yAnz5TF+lXXJte14tji3zlMNq+hd2rYUIgJBgB3fBmk=",
  address: "10.64.0.11/32",
  dns: "10.64.0.1",
  location: "Gothenburg, Sweden",
};

export const IMPORT_EXAMPLE: ImportedConfig = {
  name: "work",
  config: `[Interface]
PrivateKey = ${CUSTOM_EXAMPLE.private_key}
Address = 10.64.0.22/32
DNS = 10.64.0.1

[Peer]
PublicKey = ${CUSTOM_EXAMPLE.public_key}
AllowedIPs = 0.0.0.0/0, ::/0
Endpoint = 203.0.113.12:51820
`,
};

export const ownServerRoutes = [
  route({
    method: "post",
    path: "/api/custom/add",
    id: "addCustomServer",
    summary: "Add a server of your own",
    description: "It is a server of the provider `custom`.",
    tag: "Servers",
    body: CustomServer,
    example: CUSTOM_EXAMPLE,
    answers: DONE,
    together: "queued",
    run: ({ catalogue, tunnels }, { body }) =>
      catalogue.addCustom(body, (config) => tunnels.assertNoClash(config)),
  }),
  route({
    method: "delete",
    path: "/api/custom/remove/:name",
    id: "removeCustomServer",
    summary: "Remove a server of your own",
    description: "Refused while a tunnel uses it.",
    tag: "Servers",
    params: { name: Type.String({ example: CUSTOM_EXAMPLE.name }) },
    answers: DONE,
    together: "queued",
    run: (domain, { params }) => remove(domain, "custom", params.name),
  }),
  route({
    method: "post",
    path: "/api/import",
    id: "importServer",
    summary: "Import a WireGuard configuration",
    description:
      "It becomes a server of the provider `imported`. Settings of the file that have no effect here are reported as warnings.",
    tag: "Servers",
    body: ImportedConfig,
    example: IMPORT_EXAMPLE,
    answers: answers(Imported, "the configuration was added to the imported servers"),
    together: "queued",
    run: ({ catalogue, tunnels }, { body }) => {
      const warnings = catalogue.importConfig(body, (config) => tunnels.assertNoClash(config));
      return warnings.length > 0 ? { success: true as const, warnings } : undefined;
    },
  }),
  route({
    method: "put",
    path: "/api/import/:name",
    id: "placeImportedServer",
    summary: "Say where an imported server is",
    description: "A tunnel that leads there says so from its next connection on.",
    tag: "Servers",
    params: { name: Type.String({ example: IMPORT_EXAMPLE.name }) },
    body: ImportedPlace,
    example: { location: "Gothenburg, Sweden" },
    answers: DONE,
    together: "queued",
    run: ({ catalogue }, { params, body }) => catalogue.placeImported(params.name, body.location),
  }),
  route({
    method: "delete",
    path: "/api/import/:name",
    id: "removeImportedServer",
    summary: "Remove an imported server",
    description: "Refused while a tunnel uses it.",
    tag: "Servers",
    params: { name: Type.String({ example: IMPORT_EXAMPLE.name }) },
    answers: DONE,
    together: "queued",
    run: (domain, { params }) => remove(domain, "imported", params.name),
  }),
];

/** The only answer with a private key. It is `no-store`, as every answer that sets no caching of its own. */
export const keyPairRoute = route({
  method: "get",
  path: "/api/keypair",
  id: "createKeyPair",
  summary: "Generate a WireGuard key pair",
  description: "It is kept nowhere: this is the only time that it can be read.",
  tag: "Servers",
  answers: answers(KeyPair, "a pair that was generated for this request and is stored nowhere"),
  run: () => {
    const { privateKey, publicKey } = generateKeyPair();
    return { private_key: privateKey, public_key: publicKey };
  },
});

/** Refuses the server that a tunnel uses. */
function remove({ tunnels, catalogue }: Domain, provider: Stored, name: string): void {
  const user = tunnels.using(provider, name);
  if (user !== null) {
    throw refused("server_in_use", { tunnel: user.name });
  }
  catalogue.remove(provider, name);
}
