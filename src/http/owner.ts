import { type Static, Type } from "typebox";
import { passphraseHash } from "../access/passphrases.ts";
import { Auth, NewToken, PairingRequest, PortsChange, PortsRequest, ShownPorts } from "../access/schema.ts";
import type { TokenHolder } from "../access/tokens.ts";
import type { AlertArgs } from "../base/alert-rows.ts";
import { checkerOf } from "../base/checker.ts";
import { objectOf } from "../base/object.ts";
import { Unsaved } from "../base/unsaved.ts";
import { withdrawDirect } from "../destinations/withdraw-direct.ts";
import { RemoteStatus } from "../remote/schema.ts";
import { answers, DONE } from "./answers.ts";
import { clientOf, nameOf } from "./client.ts";
import type { Domain } from "./domain.ts";
import { refused } from "./refusals.ts";
import { route } from "./route.ts";

const PASSPHRASE = Type.Optional(
  Type.String({ maxLength: 1_024, description: "of this owner; needed for what opens the kill switch" }),
);

/** PUT /api/owner/killswitch. */
export const KillSwitchRequest = objectOf({ on: Type.Boolean(), passphrase: PASSPHRASE });

/** PUT /api/owner/direct. */
export const DirectRequest = objectOf({
  allowed: Type.Boolean({ description: "whether devices may be given the exit direct" }),
  passphrase: PASSPHRASE,
});

/** PUT /api/owner/remote. */
export const RemoteRequest = objectOf({
  on: Type.Boolean(),
  port: Type.Optional(Type.Integer({ minimum: 1, maximum: 65_535, description: "the UDP port" })),
  endpoint: Type.Optional(
    Type.String({ maxLength: 260, description: "what devices connect to: a host, or host:port" }),
  ),
  through: Type.Optional(Type.String({ maxLength: 64, description: "the tunnel that they come in by" })),
});

/** PUT /api/owner/settings: what is not given stays. */
export const OwnerSettings = objectOf(
  {
    dhcp: Type.Optional(
      Type.String({
        pattern: "^(on|off|[0-9.]{7,15}-[0-9.]{7,15})$",
        description:
          "on, off, or the first and the last address that devices get, with a hyphen between them",
      }),
    ),
    auth: Type.Optional(Auth),
    mqtt: Type.Optional(
      Type.String({
        maxLength: 300,
        // Without a password, which would be on a command line.
        pattern: "^(mqtts?:/{2}([A-Za-z0-9._%-]+@)?[A-Za-z0-9._:\\[\\]-]+)?$",
        description: "the URL of the MQTT broker, without a password, as --mqtt takes it; empty for none",
      }),
    ),
    mqtt_password: Type.Optional(Type.String({ minLength: 1, maxLength: 1_024 })),
    mqtt_commands: Type.Optional(Type.Boolean({ description: "whether commands come by MQTT" })),
  },
  { minProperties: 1 },
);
export type OwnerSettings = Static<typeof OwnerSettings>;

/** POST /api/owner/update. */
export const UpdateRequest = objectOf({
  release: Type.String({
    maxLength: 1_024,
    pattern: "^https:/{2}[A-Za-z0-9.:/_-]+$",
    description: "the folder of a release, which ends with /, or one of its archives",
  }),
  install: Type.Optional(Type.Boolean({ description: "false, the default, only says what is new" })),
});

export const UpdateOffer = objectOf({
  current: Type.String({ description: "the version that runs" }),
  offered: Type.String({ description: "that of the release, whose signature was verified" }),
  newer: Type.Boolean(),
  notes: Type.String({ description: "what is new" }),
});

/** With what else the command prints. */
const printed = checkerOf(Type.Object(UpdateOffer.properties));

export type UpdateOffer = Static<typeof UpdateOffer>;

/** Looking at a release takes long on a slow line. */
const ANSWER_WITHIN_SECONDS = 120;

const shared = { tag: "Access", access: "owner", limit: "connection" } as const;

/** What is otherwise root's, in a terminal of the gateway. */
export const ownerRoutes = [
  route({
    ...shared,
    access: "pairing",
    method: "post",
    path: "/api/owner/pair",
    id: "pairOwner",
    summary: "Become an owner, who may do all that root may",
    description: "With the code of `portcullis pair`. The token is in this answer only.",
    body: PairingRequest,
    example: { code: "k7qd-m2xw", name: "laptop", passphrase: "six words that nobody else knows" },
    answers: answers(NewToken, "the token, whose text is shown only now"),
    run: async ({ claim, pairing, tokens, ...domain }, { request, body: { code, name, passphrase } }) => {
      const { address } = clientOf(request, domain);
      const token = await pairing.use(code, address, async () =>
        tokens.addOwner(name, await passphraseHash(passphrase), address),
      );
      // A flashed gateway has its owner now.
      claim.end();
      return token;
    },
  }),
  route({
    ...shared,
    method: "put",
    path: "/api/owner/remote",
    id: "setRemoteAccess",
    summary: "Turn remote access on or off",
    description: "It opens one UDP port of the gateway.",
    body: RemoteRequest,
    example: { on: true },
    answers: answers(RemoteStatus, "how devices come in now"),
    run: (domain, { request, body: { on, port = null, endpoint = null, through = null } }) => {
      const { remoteAccess } = domain;
      return told(domain, request, { what: on ? "remote_on" : "remote_off" }, () =>
        on ? remoteAccess.turnOn({ port, endpoint, through }) : remoteAccess.turnOff(),
      );
    },
  }),
  route({
    ...shared,
    method: "put",
    path: "/api/owner/direct",
    id: "setDirect",
    summary: "Allow the exit direct, or withdraw it",
    description: "Devices with this exit leave outside every tunnel, so allowing it needs the passphrase.",
    body: DirectRequest,
    example: { allowed: false },
    answers: DONE,
    run: async (domain, { request, body: { allowed, passphrase } }) => {
      if (allowed) await confirm(domain, request, passphrase);
      await told(domain, request, { what: allowed ? "direct_on" : "direct_off" }, () =>
        allowed ? domain.devices.setDirect(true) : withdrawDirect(domain),
      );
    },
  }),
  route({
    ...shared,
    method: "put",
    path: "/api/owner/killswitch",
    id: "setKillSwitch",
    summary: "Turn the kill switch on or off",
    description:
      "Without it, devices might leave outside the tunnel, so turning it off needs the passphrase.",
    body: KillSwitchRequest,
    example: { on: true },
    answers: DONE,
    run: async (domain, { request, body: { on, passphrase } }) => {
      if (!on) await confirm(domain, request, passphrase);
      await told(domain, request, { what: on ? "killswitch_on" : "killswitch_off" }, () =>
        domain.operatorSwitch.turn(on),
      );
    },
  }),
  route({
    ...shared,
    method: "put",
    path: "/api/owner/settings",
    id: "changeOwnerSettings",
    summary: "Change settings that need a restart of the service",
    description:
      "As `portcullis setup` does with flags. What is wrong is refused before anything is changed. The service restarts after the answer; tunnels and the kill switch stay.",
    body: OwnerSettings,
    example: { auth: "write" },
    answers: DONE,
    run: async (domain, { request, body }) => {
      domain.serverOf(request)?.timeout(request, ANSWER_WITHIN_SECONDS);
      const settings = Object.keys(body)
        .filter((name) => name !== "mqtt_password")
        .join(", ");
      domain.passphrases.assertNoneCounts();
      await told(domain, request, { what: "settings", settings }, () =>
        domain.rootCommands.setUp(flagsOf(body), () => void ownerOf(request, domain), body.mqtt_password),
      );
    },
  }),
  route({
    ...{ tag: "Access", access: "owner" },
    method: "get",
    path: "/api/owner/ports",
    id: "getPorts",
    summary: "Read which network port is the uplink, and which are the LAN",
    description: "Of a flashed gateway; elsewhere `setup` names interfaces, and there are no `ports`.",
    answers: answers(ShownPorts, "the ports and their roles"),
    run: ({ ports }) => ports.shown(),
  }),
  route({
    ...shared,
    method: "put",
    path: "/api/owner/ports",
    id: "changePorts",
    summary: "Change which network port is the uplink, and which are the LAN",
    description:
      "Of a flashed gateway. Until it is done, there is no LAN, and the service restarts; tunnels' exits and the kill switch stay. If the uplink gets no address within a minute, or anything else fails, even by a power cut, all ports go back to the roles that they had.",
    body: PortsRequest,
    example: { uplink: "eth0", lan: ["eth1"] },
    answers: answers(PortsChange, "what changes; the change has begun unless `preview` was true"),
    run: async (domain, { request, body: { uplink, lan, preview = false } }) => {
      const { ports, rootCommands, passphrases } = domain;
      const change = await ports.plan({ uplink, lan });
      if (preview) return change;
      passphrases.assertNoneCounts();
      await told(domain, request, { what: "settings", settings: "uplink, lan" }, () =>
        rootCommands.assignPorts({ uplink, lans: lan }),
      );
      return change;
    },
  }),
  route({
    ...shared,
    method: "post",
    path: "/api/owner/update",
    id: "updateProgram",
    summary: "Verify a release, and upgrade to it",
    description: "It is downloaded through the tunnel. The service restarts after the answer.",
    body: UpdateRequest,
    answers: answers(
      UpdateOffer,
      "what the release has; with `install`, the upgrade has begun if it is newer",
    ),
    run: async (domain, { request, body: { release, install = false } }) => {
      domain.serverOf(request)?.timeout(request, ANSWER_WITHIN_SECONDS);
      if (install) domain.passphrases.assertNoneCounts();
      const said = printed.read(await domain.rootCommands.checkUpdate(release));
      if (said === null) throw refused("internal_error");
      const { current, offered, newer, notes } = said;
      if (install && newer)
        await told(domain, request, { what: "update", release }, () => domain.rootCommands.update(release));
      return { current, offered, newer, notes };
    },
  }),
];

function flagsOf({ dhcp, auth, mqtt, mqtt_commands }: OwnerSettings): string[] {
  return [
    ...(dhcp === undefined ? [] : ["--dhcp", dhcp]),
    ...(auth === undefined ? [] : ["--auth", auth]),
    ...(mqtt === undefined ? [] : ["--mqtt", mqtt]),
    ...(mqtt_commands === undefined ? [] : ["--mqtt-commands", mqtt_commands ? "on" : "off"]),
  ];
}

/** Asks once more; the owner may have been removed meanwhile. */
function confirm(domain: Domain, request: Request, passphrase: string | undefined): Promise<void> {
  return domain.passphrases.confirm(ownerOf(request, domain), passphrase);
}

function ownerOf(request: Request, { gate }: Pick<Domain, "gate">): TokenHolder {
  const holder = gate.holderOf(request);
  if (holder?.isOwner !== true) throw refused("owner_needed");
  return holder;
}

type Act =
  | { what: Exclude<AlertArgs<"owner_acted">["what"], "settings" | "update"> }
  | { what: "settings"; settings: string }
  | { what: "update"; release: string };

/** Does it unless the owner has been removed meanwhile, and tells who did. What is in force although it could not be saved is told, too. */
async function told<T>(domain: Domain, request: Request, act: Act, work: () => Promise<T>): Promise<T> {
  ownerOf(request, domain);
  const by = nameOf(clientOf(request, domain));
  const tell = () => domain.alerts.raise("owner_acted", { ...act, by });
  try {
    const answer = await work();
    tell();
    return answer;
  } catch (error) {
    if (error instanceof Unsaved) tell();
    throw error;
  }
}
