import { QueryClientProvider } from "@tanstack/react-query";
import { lazy, Suspense, useEffect } from "react";
import { cache } from "./api/resource";
import { type Session, useSession } from "./api/session";
import { type Place, usePlace, useQuery } from "./route/route";
import { Zone } from "./ui/clock";
import { Me } from "./ui/me";
import { Login } from "./ui/login";
import { Link } from "./ui/link";
import { Shell } from "./ui/shell";
import { Empty, Loading } from "./ui/state";
import { LoadFailed } from "./ui/loadfailed";
import { chosenZone } from "./ui/zone";
import { Timeline } from "./view/timeline/timeline";

// Every view but the first is its own file. They load while the page is idle, so that they are
// there when the server is not.
const views = {
  alerts: () => import("./view/alerts/alerts"),
  config: () => import("./view/config/config"),
  deadlines: () => import("./view/deadlines/deadlines"),
  events: () => import("./view/events/events"),
  pipeline: () => import("./view/pipeline/pipeline"),
  run: () => import("./view/run/run"),
  trends: () => import("./view/trends/trends"),
};
const Alerts = lazy(async () => ({ default: (await views.alerts()).Alerts }));
const Config = lazy(async () => ({ default: (await views.config()).Config }));
const Deadlines = lazy(async () => ({ default: (await views.deadlines()).Deadlines }));
const Events = lazy(async () => ({ default: (await views.events()).Events }));
const PipelineView = lazy(async () => ({ default: (await views.pipeline()).PipelineView }));
const RunView = lazy(async () => ({ default: (await views.run()).RunView }));
const Trends = lazy(async () => ({ default: (await views.trends()).Trends }));

function usePreload() {
  useEffect(() => {
    const idle = requestIdleCallback(() => {
      for (const load of Object.values(views)) load().catch(() => undefined); // shown when the view is opened
    }, { timeout: 10_000 });
    return () => cancelIdleCallback(idle);
  }, []);
}

export function App() {
  return <QueryClientProvider client={cache}><Gatekeeper /></QueryClientProvider>;
}

function Gatekeeper() {
  const { known, login, logout } = useSession();
  switch (known.state) {
    case "asking": return <Loading what="the server" />;
    case "unreachable": return <main className="login"><div className="state error" role="alert"><strong>The server cannot be reached.</strong> Retrying every two seconds.</div></main>;
    case "out": return <Login why={known.why} login={login} />;
    case "in": return <Page session={known.session} logout={logout} />;
  }
}

function titleOf(p: Place): string {
  switch (p.view) {
    case "timeline": return "Timeline";
    case "deadlines": return "Deadlines";
    case "events": return "Events";
    case "trends": return "Trends";
    case "alerts": return "Alerts";
    case "config": return "Config";
    case "pipeline": return p.id;
    case "run": return `${p.pipeline} · ${p.date}`;
    case "unknown": return "Not found";
  }
}

function Page({ session, logout }: { session: Session; logout: () => Promise<void> }) {
  const place = usePlace();
  const [query] = useQuery();
  const title = titleOf(place);
  usePreload();
  useEffect(() => {
    document.title = `${title} · Interlock`;
  }, [title]);
  return (
    <Zone value={chosenZone(query.get("zone"))}>
      <Me value={session}>
        <Shell place={place} session={session} logout={logout}>
          <LoadFailed key={location.pathname}><Suspense fallback={<Loading what="the view" />}><View place={place} /></Suspense></LoadFailed>
        </Shell>
      </Me>
    </Zone>
  );
}

function View({ place }: { place: Place }) {
  switch (place.view) {
    case "timeline": return <Timeline />;
    case "deadlines": return <Deadlines />;
    case "events": return <Events />;
    case "trends": return <Trends />;
    case "alerts": return <Alerts />;
    case "config": return <Config />;
    case "pipeline": return <PipelineView key={place.id} id={place.id} />;
    case "run": return <RunView key={`${place.pipeline}/${place.schedule}/${place.date}`} {...place} />;
    case "unknown": return <Empty><h1>Page not found</h1><p><code>{place.path}</code> is not a view of the dashboard. <Link href="/">Go to the timeline</Link>.</p></Empty>;
  }
}
