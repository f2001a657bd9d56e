import { refusals } from "../base/refusals.ts";

/** What the machine, its kernel and programs, or others on the network refuse. */
export const refused = refusals({
  unable: {
    socket_denied: "the kernel permits this program no {kind} socket",
    socket_without_route:
      "no {kind, select, any {socket can} other {{kind} socket can}} send to {address}{link, select, any {} other { by {link}}}",
    socket_unbound: "no {kind} socket can {work} {link}",
    interface_unknown: "there is no interface {link}",
    server_call_failed: "{server} {reason}",
    request_failed: "the request to {host} failed: {reason}",
    download_failed: "{host}: {reason}",
    relay_failed: "{reason}",
    relay_ended: "the relay to the server has ended",
    relay_unavailable: "the kernel gives no eventfd for the relay to the server",
    program_failed: "{program} failed{reason}",
    program_unstarted: "{program} cannot be started: {reason}",
    program_output_full: "the kernel gives no memory for what programs print",
    kernel_module_missing:
      "{reason} (the kernel lacks a module for this or cannot load it; if the kernel was upgraded, restart the machine)",
    file_unreadable_here: "{file} cannot be read: {reason}",
    speed_test_ended_itself: "the speed test has ended by itself",
    speed_test_late: "the speed test has not ended in time",
    speed_test_failed: "{reason}",
    root_refused: "{reason}; nothing was changed",
    not_installed: "this is not the installed program of this machine, which alone can be changed from here",
  },
  rate_limited: { root_busy: "another change is under way; try again in a moment" },
  timed_out: {
    server_call_late: "{server} did not answer within {seconds} s",
    program_late: "{program} did not finish within {seconds} s",
    kernel_sets_late: "the kernel did not change its sets within {seconds} s",
  },
  kernel_refused: {
    kernel_setting_refused: "cannot write {path}: {reason}",
    kernel_sets_refused: "the kernel does not change its sets: {reason}",
    connections_kept: "the kernel does not let this program end connections",
  },
});
