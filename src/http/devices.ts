import { Type } from "typebox";
import { parseAddress, unmapped } from "../base/address.ts";
import { LanNetworkChange, LanNetworkList } from "../devices/network-schema.ts";
import {
  DefaultExit,
  DeviceChange,
  DeviceList,
  OwnDevice,
  SharedQuota,
  SharedRate,
} from "../devices/schema.ts";
import { sentenceOf } from "../network/other-routers.ts";
import { ownNetworkIn } from "../network/own.ts";
import { answers, DONE } from "./answers.ts";
import { route } from "./route.ts";
import { Network } from "./schema.ts";

export const DEVICE_EXAMPLE = "02:00:00:00:00:20";

const params = { id: Type.String({ example: DEVICE_EXAMPLE }) };

export const deviceRoutes = [
  route({
    method: "get",
    path: "/api/devices",
    id: "listDevices",
    summary: "List the devices",
    description:
      "Those of the LAN, and those that come in from outside, with the exit, limits and traffic of each.",
    tag: "Devices",
    answers: answers(DeviceList, "the devices of the LAN, by id"),
    together: "shared",
    run: ({ devices }) => devices.list(),
  }),
  route({
    method: "get",
    path: "/api/devices/self",
    id: "getOwnDevice",
    summary: "Find out which device is asking",
    description: "By the address from which the request comes.",
    tag: "Devices",
    answers: answers(OwnDevice, "the device that asks"),
    run: async ({ devices, serverOf }, { request }) => {
      const address = serverOf(request)?.requestIP(request)?.address ?? "";
      return { address: shortened(address), device: await devices.at(address) };
    },
  }),
  route({
    method: "put",
    path: "/api/devices/:id",
    id: "setDevice",
    summary: "Name a device, or set its exit, address, limit, quota, icon or group",
    description: "What is not given stays. The answer comes once none of its packets uses the former exit.",
    tag: "Devices",
    params,
    body: DeviceChange,
    example: { name: "TV", exit: "blocked" },
    answers: DONE,
    limit: "connection",
    slash: true,
    together: "queued",
    run: ({ devices }, { params, body }) => devices.assign(params.id, body),
  }),
  route({
    method: "delete",
    path: "/api/devices/:id",
    id: "forgetDevice",
    summary: "Forget what was set for a device",
    description: "Its name, exit, address, limit, quota, icon and group. It then has the default exit.",
    tag: "Devices",
    params,
    answers: DONE,
    limit: "connection",
    slash: true,
    together: "queued",
    run: ({ devices }, { params }) => devices.forget(params.id),
  }),
  route({
    method: "put",
    path: "/api/default-exit",
    id: "setDefaultExit",
    summary: "Set the exit of all other devices",
    description: "Of those without an exit of their own, which includes devices that are new.",
    tag: "Devices",
    body: DefaultExit,
    example: { exit: "blocked" },
    answers: DONE,
    limit: "connection",
    together: "queued",
    run: ({ devices }, { body }) => devices.setDefaultExit(body.exit),
  }),
  route({
    method: "put",
    path: "/api/shared-rate",
    id: "setSharedRate",
    summary: "Limit all other devices together",
    description: "The devices without a rate of their own share this one.",
    tag: "Devices",
    body: SharedRate,
    example: { rate: { down: 50, up: 10 } },
    answers: DONE,
    limit: "connection",
    together: "queued",
    run: ({ devices }, { body }) => devices.setSharedRate(body.rate),
  }),
  route({
    method: "put",
    path: "/api/shared-quota",
    id: "setSharedQuota",
    summary: "Give all other devices a quota together",
    description: "The devices without a quota of their own share this one.",
    tag: "Devices",
    body: SharedQuota,
    example: { quota: { megabytes: 20_000, every: "month", at_end: "told" } },
    answers: DONE,
    limit: "connection",
    together: "queued",
    run: ({ devices }, { body }) => devices.setSharedQuota(body.quota),
  }),
];

const network = { interface: Type.String({ example: "eth0.20" }) };

export const networkRoutes = [
  route({
    method: "get",
    path: "/api/networks",
    id: "listNetworks",
    summary: "List the networks of the LAN",
    description: "Each LAN interface is one, with the exit of its devices and what it reaches.",
    tag: "Devices",
    answers: answers(LanNetworkList, "the networks of the LAN, by interface"),
    run: ({ devices }) => devices.networks.counted(),
  }),
  route({
    method: "put",
    path: "/api/networks/:interface",
    id: "setNetwork",
    summary: "Name a network, set its exit, or what it may reach",
    description: "What is not given stays. Devices with an exit of their own keep it.",
    tag: "Devices",
    params: network,
    body: LanNetworkChange,
    example: { name: "Guests", exit: "blocked", page: false },
    answers: DONE,
    limit: "connection",
    together: "queued",
    run: ({ devices }, { params, body }) => devices.networks.set(params.interface, body),
  }),
  route({
    method: "delete",
    path: "/api/networks/:interface",
    id: "forgetNetwork",
    summary: "Forget a network that is gone",
    description: "If it comes back, it is new.",
    tag: "Devices",
    params: network,
    answers: DONE,
    limit: "connection",
    together: "queued",
    run: ({ devices }, { params }) => devices.networks.forget(params.interface),
  }),
];

export const networkRoute = route({
  method: "get",
  path: "/api/network",
  id: "getNetwork",
  summary: "Read the gateway's own network",
  description: "Its name, its addresses on the LAN, its uplink, and other routers that lead devices past it.",
  tag: "Devices",
  answers: answers(Network, "the gateway's own name, addresses on the LAN, and uplink"),
  run: ({ hostname, tunnels, settings, otherRouters }) => ({
    hostname,
    ...ownNetworkIn(tunnels.main.controller.network),
    dhcp: settings.dhcp !== null,
    other_routers: otherRouters.current.map((each) => {
      const { interface: link, address, mac } = each;
      return { interface: link, address, mac, found: sentenceOf(each) };
    }),
  }),
});

/** An IPv4 peer of a socket for both families has an IPv4-mapped address. */
function shortened(address: string): string {
  const parsed = parseAddress(address);
  return parsed === null ? address : unmapped(parsed);
}
