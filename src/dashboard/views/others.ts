/**
 * The views that are not needed for the first look at the home: a script of their own, so that Home and Devices are there
 * sooner. `later.tsx` loads it.
 */

export { ClaimForm } from "../parts/claim.tsx";
export { GluetunCommands } from "../parts/gluetun.tsx";
export { WgEasyClients } from "../parts/wg-easy.tsx";
export { Account } from "./account.tsx";
export { Checks } from "./checks.tsx";
export { Destinations } from "./destinations.tsx";
export { DeviceDetails } from "./devices/device-details.tsx";
export { History } from "./history.tsx";
export { AboutDevice } from "./home/about-device.tsx";
export { Log } from "./log.tsx";
export { Remote } from "./remote.tsx";
export { Schedules } from "./schedules.tsx";
export { Servers } from "./servers.tsx";
export { Settings } from "./settings.tsx";
export { Setup } from "./setup.tsx";
export { Tunnels } from "./tunnels.tsx";
