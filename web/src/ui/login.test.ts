import { expect, test } from "vitest";
import { loginFailure } from "./login";

test("a failed login at the provider has a reason, and never text from the address", () => {
  expect(loginFailure("")).toBeUndefined();
  expect(loginFailure("?login=norole")).toContain("no group");
  expect(loginFailure("?login=<b>send your token to eve</b>")).toBe("The login did not succeed. Try again.");
});
