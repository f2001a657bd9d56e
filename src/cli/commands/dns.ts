import { Argument, type Command } from "commander";
import { apiCommand, command } from "../api-command.ts";

const loadDns = () => import("../dns.ts");

export function addDnsCommand(program: Command): void {
  apiCommand(
    command(program, "dns", "show the gateway's own resolver, or change the lists of names that it blocks")
      .addArgument(
        new Argument("[action]", "what to do").choices([
          "add",
          "remove",
          "on",
          "off",
          "open",
          "close",
          "private",
          "public",
          "doh",
          "pause",
        ]),
      )
      .argument(
        "[what]",
        "for add, remove, on and off: the https address of a list; for open and close: a name that no list blocks; for private and public: a name that may resolve to addresses of the home; for doh: block or open, the names of resolvers that answer over HTTPS; for pause: minutes (default: 5)",
      )
      .argument("[device...]", "for add: the devices that it is for, by id or by name (default: all)"),
    async (api, args) => {
      const { changeDns, showDns } = await loadDns();
      return args.length === 0 ? showDns(api) : changeDns(api, args);
    },
  );
}
