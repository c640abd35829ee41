export type Theme = "auto" | "light" | "dark";

const key = "interlock.theme";

export function storedTheme(): Theme {
  const t = localStorage.getItem(key);
  return t === "light" || t === "dark" ? t : "auto";
}

export function applyTheme(t: Theme): void {
  document.documentElement.dataset.theme = t;
  if (t === "auto") localStorage.removeItem(key);
  else localStorage.setItem(key, t);
}

export function nextTheme(t: Theme): Theme {
  return t === "auto" ? "light" : t === "light" ? "dark" : "auto";
}

/** Calls f whenever colours change: the user chose another theme, or the system did. Returns how to stop. */
export function onThemeChange(f: () => void): () => void {
  const chosen = new MutationObserver(f);
  chosen.observe(document.documentElement, { attributeFilter: ["data-theme"] });
  const system = matchMedia("(prefers-color-scheme: dark)");
  system.addEventListener("change", f);
  return () => {
    chosen.disconnect();
    system.removeEventListener("change", f);
  };
}
