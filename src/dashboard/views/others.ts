/**
 * The views that are not needed for the first look at the home: a script of their own, so that Home and Devices are there
 * sooner. `later.tsx` loads it.
 */
export { Account } from "./account.tsx";
export { Checks } from "./checks.tsx";
export { Destinations } from "./destinations.tsx";
export { History } from "./history.tsx";
export { Log } from "./log.tsx";
export { Remote } from "./remote.tsx";
export { Schedules } from "./schedules.tsx";
export { Servers } from "./servers.tsx";
export { Settings } from "./settings.tsx";
export { Setup } from "./setup.tsx";
export { Tunnels } from "./tunnels.tsx";
