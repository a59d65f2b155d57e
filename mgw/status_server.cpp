#include "mgw/status_server.h"

#include "mgw/status_json.h"
#include "mgw/status_page/status_page.h"

#include <array>
#include <string_view>

namespace mgw {

namespace {

constexpr std::string_view kApi = "/api/";
constexpr std::string_view kOverview = "/api/overview";
constexpr std::string_view kCalls = "/api/calls";
constexpr std::string_view kCall = "/api/call/";
constexpr std::string_view kJson = "application/json; charset=utf-8";

struct Resource {
  std::string_view path;
  std::string_view content_type;
  std::string_view (*text)() noexcept;
};

constexpr std::array<Resource, 3> kResources{{
    {"/", "text/html; charset=utf-8", status_page::html},
    {"/status.css", "text/css; charset=utf-8", status_page::css},
    {"/status.js", "text/javascript; charset=utf-8", status_page::script},
}};

PageAnswer fault(std::string_view status, std::string_view words) {
  return {status, kJson, "{\"error\":\"" + std::string(words) + "\"}\n"};
}

PageAnswer json_page(std::string text) {
  text += '\n';
  return {"200 OK", kJson, std::move(text)};
}

}  // namespace

tl::expected<std::unique_ptr<StatusServer>, std::string> StatusServer::start(
    const io::SocketAddress& address, StatusSources sources) {
  std::unique_ptr<StatusServer> made(new StatusServer(std::move(sources)));
  auto server = PageServer::start(address, [status = made.get()](const PageRequest& request) {
    return status->answer(request);
  });
  if (!server) {
    return tl::unexpected(server.error());
  }
  made->server_ = std::move(*server);
  made->sources_.board.on_published([pages = made->server_.get()] { pages->retry(); });
  return made;
}

StatusServer::~StatusServer() {
  sources_.board.on_published(nullptr);
}

std::optional<PageAnswer> StatusServer::answer(const PageRequest& request) const {
  if (request.path == "/metrics") {
    return PageAnswer{"200 OK", kMetricsContentType, metrics_text(sources_.metrics)};
  }
  for (const Resource& resource : kResources) {
    if (request.path == resource.path) {
      return PageAnswer{"200 OK", resource.content_type, std::string(resource.text())};
    }
  }
  if (!request.path.starts_with(kApi)) {
    return page_not_found();
  }
  auto snapshot = sources_.board.ask(sources_.clock.now());
  if (snapshot == nullptr && request.is_late) {
    snapshot = sources_.board.latest();
    if (snapshot == nullptr || !snapshot->calls) {
      return fault("503 Service Unavailable", "the gateway is too busy to look at its calls");
    }
  }
  return snapshot == nullptr ? std::nullopt : std::optional(api_answer(request, *snapshot));
}

PageAnswer StatusServer::api_answer(const PageRequest& request,
                                    const GatewaySnapshot& snapshot) const {
  if (request.path == kOverview) {
    return json_page(overview_json(snapshot, sources_.clock.now()));
  }
  if (request.path == kCalls) {
    const auto query = parse_call_query(request.query);
    return query ? json_page(calls_json(snapshot, *query))
                 : fault("400 Bad Request", "sort, order, limit, offset or filter is not right");
  }
  if (request.path.starts_with(kCall)) {
    auto call = call_json(snapshot, percent_decoded(request.path.substr(kCall.size())));
    return call ? json_page(std::move(*call)) : fault("404 Not Found", "the endpoint has no call");
  }
  return fault("404 Not Found", "no such view");
}

}  // namespace mgw
