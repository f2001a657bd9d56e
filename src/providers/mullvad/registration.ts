import { Type } from "typebox";
import { registrationReader } from "../keyed-registration.ts";
import { DeviceId, DeviceName } from "./answers.ts";

/** This gateway's registration with Mullvad. The number is a secret, kept in the store and nowhere else. */
export const registrationFrom = registrationReader({
  number: Type.String({ pattern: "^[0-9]{16}$" }),
  id: DeviceId,
  name: DeviceName,
});
export type MullvadRegistration = NonNullable<ReturnType<typeof registrationFrom>>;
