import { type Static, Type } from "typebox";
import { objectOf } from "../base/object.ts";
import { MAX_SPEED_RESULTS, MAX_URL_CHARACTERS, SPEED_BOUNDS } from "../shared/bounds.ts";

const { seconds, megabytes } = SPEED_BOUNDS;

export const SpeedBody = objectOf({
  url: Type.String({
    minLength: 1,
    maxLength: MAX_URL_CHARACTERS,
    description:
      "the https address of a large file, with or without its `https:`, which is asked once. Its server learns the tunnel's address, as of any visitor",
  }),
  tunnel: Type.Optional(
    Type.String({
      description: "the tunnel that is measured, and that everything goes through; `main` without it",
    }),
  ),
  seconds: Type.Optional(
    Type.Integer({
      minimum: seconds.minimum,
      maximum: seconds.maximum,
      description: `${seconds.usual} without it`,
    }),
  ),
  megabytes: Type.Optional(
    Type.Integer({
      minimum: megabytes.minimum,
      maximum: megabytes.maximum,
      description: `the most to download; ${megabytes.usual} without it`,
    }),
  ),
});
export type SpeedBody = Static<typeof SpeedBody>;

const At = Type.String({ format: "date-time", description: "when it began" });
const Address = Type.String({ description: "what was downloaded, without what follows a `?`" });
const Bytes = Type.Integer({ minimum: 0, description: "what has come after the first piece" });

export const SpeedResult = objectOf({
  at: At,
  tunnel: Type.String(),
  server: Type.String({ description: "the server of the tunnel" }),
  url: Address,
  bytes: Bytes,
  seconds: Type.Number({ minimum: 0, description: "in which `bytes` have come" }),
  mbit_per_second: Type.Number({ minimum: 0 }),
});
export type SpeedResult = Static<typeof SpeedResult>;

export const RunningSpeedTest = objectOf({
  ...{ at: At, tunnel: Type.String(), url: Address, bytes: Bytes },
  mbit_per_second: Type.Union([Type.Number({ minimum: 0 }), Type.Null()], {
    description: "until now; null before anything has come",
  }),
});
export type RunningSpeedTest = Static<typeof RunningSpeedTest>;

export const SpeedTestList = objectOf({
  running: Type.Union([RunningSpeedTest, Type.Null()]),
  results: Type.Array(SpeedResult, { description: `the last ${MAX_SPEED_RESULTS}, the latest first` }),
});
export type SpeedTestList = Static<typeof SpeedTestList>;
