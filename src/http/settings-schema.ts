import { type Static, Type } from "typebox";
import { objectOf } from "../base/object.ts";
import { LINE_BOUNDS, QUALITY_BOUNDS } from "../shared/bounds.ts";
import { LANGUAGE_NAMES, type LanguageCode } from "../shared/languages.ts";

const { everySeconds, slowMs, lossyPercent } = QUALITY_BOUNDS;
const QualityOn = Type.Boolean({ description: "the quality of tunnels and of the uplink is measured" });
const EverySeconds = Type.Integer({
  ...everySeconds,
  description: "from one question to the next while a tunnel is used; an unused one gets one in five minutes",
});
const SlowMs = Type.Integer({
  ...slowMs,
  description: "a path with this round trip or more is slow",
});
const LossyPercent = Type.Integer({
  ...lossyPercent,
  description: "a path that loses this many or more is lossy",
});

const Language = Type.Unsafe<LanguageCode>(
  Type.Union(Object.keys(LANGUAGE_NAMES).map((code) => Type.Literal(code))),
);

const Megabits = Type.Integer(LINE_BOUNDS);
export const Line = objectOf({
  down: { ...Megabits, description: "what devices can receive together, in Mbit/s" },
  up: { ...Megabits, description: "what they can send together, in Mbit/s" },
});

/** GET /api/settings: what is set on the gateway, and what has become of it. */
export const ShownSettings = objectOf({
  version: Type.String({ description: "the version that runs" }),
  upgrade: Type.Union([Type.String(), Type.Null()], {
    description: "what an upgrade still needs until the new version runs; null if nothing",
  }),
  command: Type.String({
    description: "what root types there, with flags, to change settings",
    examples: ["sudo portcullis setup"],
  }),
  autoconnect: Type.Boolean({ description: "a start connects to the last server again" }),
  failover: Type.Boolean({ description: "another server of its place replaces one that stays dead" }),
  port_mapping: Type.Boolean({ description: "devices may open ports by themselves" }),
  quality: objectOf(
    { on: QualityOn, every_seconds: EverySeconds, slow_ms: SlowMs, lossy_percent: LossyPercent },
    { description: "how the quality of tunnels is measured" },
  ),
  line: Type.Union([Line, Type.Null()], {
    description: "what the line carries, which is shared among the devices; null if that is not given",
  }),
  language: { ...Language, description: "of notifications and of Home Assistant's texts" },
  time_zone: Type.String({ description: "in which times of schedules are meant, in IANA's names" }),
  dhcp: Type.Union(
    [Type.Array(objectOf({ interface: Type.String(), from: Type.String(), to: Type.String() })), Type.Null()],
    { description: "the addresses that devices get from the gateway; null if --dhcp is off" },
  ),
  mqtt: Type.Union(
    [
      objectOf({
        broker: Type.String({ description: "its name or address, and its port" }),
        tls: Type.Boolean(),
        commands: Type.Boolean({ description: "Home Assistant may connect tunnels and choose exits" }),
        connected: Type.Boolean(),
        error: Type.Union([Type.String(), Type.Null()], {
          description: "why it is not connected; null before the first attempt has ended",
        }),
      }),
      Type.Null(),
    ],
    { description: "the broker of Home Assistant; null without one" },
  ),
});

const AS_ROOT = "null is what root has set";

/** PUT /api/settings: what is not given stays. */
export const ChangedSettings = objectOf(
  {
    failover: Type.Optional(
      Type.Union([Type.Boolean(), Type.Null()], { description: `replace dead servers; ${AS_ROOT}` }),
    ),
    autoconnect: Type.Optional(
      Type.Union([Type.Boolean(), Type.Null()], { description: `connect after a restart; ${AS_ROOT}` }),
    ),
    quality: Type.Optional(
      objectOf(
        {
          on: Type.Optional(QualityOn),
          every_seconds: Type.Optional(EverySeconds),
          slow_ms: Type.Optional(SlowMs),
          lossy_percent: Type.Optional(LossyPercent),
        },
        { minProperties: 1, description: "what is not given stays" },
      ),
    ),
    line: Type.Optional(
      Type.Union([Line, Type.Null()], {
        description: "what the line carries, to share it fairly among the devices; null ends that",
      }),
    ),
    language: Type.Optional(
      Type.Union([Language, Type.Null()], {
        description: "of notifications and of Home Assistant's texts; null is English",
      }),
    ),
    time_zone: Type.Optional(
      Type.Union([Type.String({ maxLength: 64 }), Type.Null()], {
        description: "of schedules, in IANA's names; null is that of the gateway's clock",
      }),
    ),
  },
  { minProperties: 1 },
);
export type ChangedSettings = Static<typeof ChangedSettings>;
export type ShownSettings = Static<typeof ShownSettings>;
export type ShownBroker = NonNullable<ShownSettings["mqtt"]>;
