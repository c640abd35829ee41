import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { App } from "./app";
import { applyTheme, storedTheme } from "./ui/theme";
import "./style/base.css";
import "./style/shell.css";
import "./style/timeline.css";
import "./style/detail.css";
import "./style/view.css";

// React Aria adds a style element unless one with this id exists. The page's policy forbids inline
// styles, so that rule is in base.css and this element stands for it.
const pressable = document.createElement("meta");
pressable.id = "react-aria-pressable-style";
document.head.append(pressable);

applyTheme(storedTheme());
createRoot(document.getElementById("root")!).render(<StrictMode><App /></StrictMode>);
