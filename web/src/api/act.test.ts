import { afterEach, expect, test, vi } from "vitest";
import { act } from "./act";
import { live } from "./live";

afterEach(() => {
  vi.unstubAllGlobals();
});

for (const [what, status] of [["done", 200], ["refused", 409]] as const) {
  test(`every view reads again once an action is ${what}`, async () => {
    const behind = vi.fn();
    const stop = live.onBehind(behind);
    vi.stubGlobal("fetch", () => {
      expect(behind).not.toHaveBeenCalled();
      return Promise.resolve(Response.json({ title: "as it is" }, { status }));
    });
    await act("POST", "/silences", {}).catch(() => {});
    expect(behind).toHaveBeenCalledOnce();
    stop();
  });
}
