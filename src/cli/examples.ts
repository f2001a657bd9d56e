import type { Command } from "commander";

/** Command lines for the help: a command shows those that begin with it. */
export const EXAMPLES: readonly string[] = [
  "portcullis status",
  "portcullis status --watch",
  "portcullis connect Sweden",
  'portcullis connect "Gothenburg, Sweden" --via Oslo',
  "portcullis connect se-got-wg-001 --then Norway --then Denmark",
  "portcullis disconnect",
  "portcullis tunnels",
  "portcullis tunnel tv connect Netherlands",
  "portcullis tunnel work connect office --provider own",
  "portcullis tunnel tv remove",
  "portcullis speed-test https://speed.example.com/100MB.bin",
  "portcullis speed-test",
  "portcullis providers",
  "portcullis use mullvad",
  "portcullis use own",
  "portcullis servers Sweden",
  "sudo portcullis servers update",
  "portcullis add home --endpoint 203.0.113.11:51820 --public-key KEY --address 10.64.0.11/32",
  "portcullis remove home",
  "portcullis import work.conf servers.zip",
  "portcullis keypair",
  "portcullis devices",
  "portcullis device TV",
  "portcullis device TV exit amsterdam,main,blocked",
  "portcullis device 02:00:00:00:00:20 name TV",
  "portcullis device TV pause 30m",
  "portcullis device TV resume",
  "portcullis device TV rate 20/5",
  "portcullis device TV quota 20GB/month told",
  "portcullis device TV forget",
  "portcullis default-exit main",
  "portcullis default-exit blocked",
  "portcullis networks",
  "portcullis network eth0.20 exit blocked",
  "portcullis network Guests page off",
  "portcullis shared-rate 50/10",
  "portcullis shared-quota 500MB/day",
  "portcullis forwards",
  "portcullis forward TV:6881 --tcp",
  "portcullis forward TV:6881 remove",
  "portcullis remote",
  "sudo portcullis remote on --endpoint home.example.org",
  "sudo portcullis remote off",
  "portcullis remote add phone",
  "portcullis remote lan phone off",
  "portcullis remote remove phone",
  "portcullis destinations",
  "portcullis destination add bank.example 203.0.113.0/24 --exit main --device Laptop",
  "portcullis destination remove 3f9a1c",
  "portcullis why TV www.example.com",
  "portcullis schedules",
  "portcullis schedule bedtime exit TV blocked --at 21:00 --until 07:00 --days sun-thu",
  "portcullis schedule night move main --every 6h",
  "portcullis schedule bedtime remove",
  "portcullis dns",
  "portcullis dns add https://lists.example.com/hosts TV",
  "portcullis dns open shop.example.com",
  "portcullis dns pause 5",
  "portcullis history --hours 48 --tunnel main",
  "portcullis check",
  "sudo portcullis check --report",
  "portcullis https",
  "portcullis https --certificate > gateway.pem",
  "portcullis logs --follow",
  "sudo portcullis killswitch status",
  "sudo portcullis killswitch on",
  "sudo portcullis killswitch off",
  "sudo portcullis account login mullvad",
  "sudo portcullis account show",
  "sudo portcullis account rotate-key",
  "sudo portcullis account logout",
  "sudo portcullis direct on",
  "sudo portcullis queries on",
  "sudo portcullis notify test",
  "sudo portcullis token add phone --read-only",
  "sudo portcullis token list",
  "sudo portcullis token remove phone",
  "sudo portcullis pair",
  "sudo portcullis export > gateway.backup",
  "sudo portcullis restore --dry-run < gateway.backup",
  "sudo portcullis update --check https://releases.example.com/portcullis/",
  "sudo portcullis install --auth write",
  "sudo portcullis setup --dhcp on",
  "sudo portcullis uninstall",
  "portcullis completion bash > ~/.local/share/bash-completion/completions/portcullis",
  "portcullis licenses",
  "sudo portcullis serve --lan eth1",
  "sudo portcullis try --port 5080",
];

export function addExamples(command: Command): void {
  for (const each of command.commands) addExamples(each);
  const own = examplesOf(command);
  if (command.parent !== null && own.length > 0)
    command.addHelpText("after", `\n${own.length === 1 ? "Example" : "Examples"}:\n${own.join("\n")}`);
}

function examplesOf(command: Command): string[] {
  const words = wordsOf(command);
  return EXAMPLES.filter((line) => `${line.replace(/^sudo /, "")} `.startsWith(`${words} `)).map(
    (line) => `  ${line}`,
  );
}

function wordsOf(command: Command): string {
  return command.parent === null ? command.name() : `${wordsOf(command.parent)} ${command.name()}`;
}
