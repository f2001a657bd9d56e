import { Type } from "typebox";
import { passphraseHash } from "../access/passphrases.ts";
import { NewToken, PairingRequest } from "../access/schema.ts";
import type { TokenHolder } from "../access/tokens.ts";
import type { AlertArgs } from "../base/alert-rows.ts";
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
    run: ({ pairing, tokens, ...domain }, { request, body: { code, name, passphrase } }) => {
      const { address } = clientOf(request, domain);
      return pairing.use(code, address, async () =>
        tokens.addOwner(name, await passphraseHash(passphrase), address),
      );
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
      return told(domain, request, on ? "remote_on" : "remote_off", () =>
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
      await told(domain, request, allowed ? "direct_on" : "direct_off", () =>
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
      await told(domain, request, on ? "killswitch_on" : "killswitch_off", () =>
        domain.operatorSwitch.turn(on),
      );
    },
  }),
];

/** Asks once more; the owner may have been removed meanwhile. */
function confirm(domain: Domain, request: Request, passphrase: string | undefined): Promise<void> {
  return domain.passphrases.confirm(ownerOf(request, domain), passphrase);
}

function ownerOf(request: Request, { gate }: Pick<Domain, "gate">): TokenHolder {
  const holder = gate.holderOf(request);
  if (holder?.isOwner !== true) throw refused("owner_needed");
  return holder;
}

type Act = Exclude<AlertArgs<"owner_acted">["what"], undefined>;

/** Does it, and tells who did. What is in force although it could not be saved is told, too. */
async function told<T>(domain: Domain, request: Request, what: Act, work: () => Promise<T>): Promise<T> {
  const by = nameOf(clientOf(request, domain));
  const tell = () => domain.alerts.raise("owner_acted", { what, by });
  try {
    const answer = await work();
    tell();
    return answer;
  } catch (error) {
    if (error instanceof Unsaved) tell();
    throw error;
  }
}
