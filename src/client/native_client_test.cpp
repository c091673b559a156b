#include "client/native_client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <map>
#include <semaphore>
#include <utility>

#include "client/scripted_server.h"

namespace hearth::client {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;
using Reply = ScriptedServer::Reply;
using When = ScriptedServer::When;

Environment variables(std::map<std::string, std::string> set) {
  return [set = std::move(set)](const char* name) -> std::optional<std::string> {
    const auto found = set.find(name);
    return found == set.end() ? std::nullopt : std::optional(found->second);
  };
}

NativeClient client_of(const std::string& url, Timeouts timeouts = {}) {
  auto options = options_from(variables({{"HEARTH_URL", url}})).value();
  options.timeouts = timeouts;
  return NativeClient(std::move(options));
}

Reply replies(int status, std::string body) {
  Reply reply;
  reply.status = status;
  reply.body = std::move(body);
  return reply;
}

Reply raw(std::string bytes) {
  Reply reply;
  reply.raw = std::move(bytes);
  return reply;
}

// A port that was free a moment ago.
std::string url_of_nobody() {
  boost::asio::io_context io;
  boost::asio::ip::tcp::acceptor acceptor(io, {boost::asio::ip::address_v4::loopback(), 0});
  return "http://127.0.0.1:" + std::to_string(acceptor.local_endpoint().port());
}

class TempFile {
 public:
  explicit TempFile(std::size_t size) : path_(testing::TempDir() + "hearth-client-" + std::to_string(getpid())) {
    std::ofstream(path_) << std::string(size, 'g');
  }
  ~TempFile() { std::filesystem::remove(path_); }
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

TEST(ClientOptionsFromEnvironment, HaveDefaultsAndChecks) {
  EXPECT_EQ(options_from(variables({})).value().endpoint.url, kDefaultUrl);
  EXPECT_EQ(options_from(variables({{"HEARTH_API_KEY", "k"}})).value().api_key, "k");
  EXPECT_FALSE(options_from(variables({{"HEARTH_API_KEY", "a\r\nHost: b"}})));
  EXPECT_FALSE(options_from(variables({{"HEARTH_URL", "nonsense"}})));
}

TEST(NativeClient, AsksAndIsAnswered) {
  ScriptedServer server([](const ScriptedServer::Request& request) {
    return request.method == "DELETE" ? replies(204, "") : replies(200, R"({"models":[]})");
  });
  auto options = options_from(variables({{"HEARTH_URL", server.url() + "/below/"}, {"HEARTH_API_KEY", "k"}})).value();
  const NativeClient client(options);
  EXPECT_EQ(client.get("/hearth/v1/models").value().body, domain::Json::parse(R"({"models":[]})"));
  EXPECT_TRUE(client.remove("/hearth/v1/models/a").value().body.is_null());
  const auto seen = server.seen();
  ASSERT_EQ(seen.size(), 2u);
  EXPECT_EQ(seen[0].method + " " + seen[0].target, "GET /below/hearth/v1/models");
  EXPECT_EQ(seen[0].headers.at("authorization"), "Bearer k");
  EXPECT_EQ(seen[1].method + " " + seen[1].target, "DELETE /below/hearth/v1/models/a");
}

TEST(NativeClient, SaysWhatToDoWhenNobodyAnswers) {
  const std::string url = url_of_nobody();
  const auto answer = client_of(url).get("/hearth/v1/models");
  EXPECT_THAT(answer.error().message, testing::StartsWith("no Hearth server answers at " + url +
                                                          "; start one with `hearth serve` or set HEARTH_URL"));
}

TEST(NativeClient, HandsTheServersErrorsOn) {
  ScriptedServer server(
      [](const auto&) { return replies(404, R"({"error":{"code":"model_not_found","message":"no model x"}})"); });
  const auto error = client_of(server.url()).get("/hearth/v1/models/x").error();
  EXPECT_EQ(error.code, base::ErrorCode::model_not_found);
  EXPECT_EQ(error.message, "no model x");
}

TEST(NativeClient, NamesTheKeyWhenItIsMissing) {
  ScriptedServer server(
      [](const auto&) { return replies(401, R"({"error":{"code":"unauthorized","message":"a key is needed"}})"); });
  EXPECT_EQ(client_of(server.url()).get("/x").error().message,
            "a key is needed; set HEARTH_API_KEY to the server's key");
}

TEST(NativeClient, DoubtsAServerThatIsNotHearth) {
  ScriptedServer server([](const auto&) { return replies(404, "404 page not found"); });
  EXPECT_THAT(client_of(server.url()).get("/x").error().message, HasSubstr("a Hearth server?"));
  ScriptedServer other([](const auto&) { return replies(200, "<html>"); });
  EXPECT_THAT(client_of(other.url()).get("/x").error().message, HasSubstr("not JSON"));
}

TEST(NativeClient, GivesUpOnASilentServer) {
  ScriptedServer server([](const auto&) {
    Reply reply;
    reply.silent = true;
    return reply;
  });
  const auto client = client_of(server.url(), {.connect = 5s, .answer = 20ms, .idle = 20ms});
  const TempFile file(10);
  EXPECT_EQ(client.get("/x").error().code, base::ErrorCode::timeout);
  EXPECT_EQ(client.post_stream("/x", {}, [](const auto&) { return true; }).error().code, base::ErrorCode::timeout);
  EXPECT_EQ(client.put_file("/x", file.path(), {}).error().code, base::ErrorCode::timeout);
}

TEST(NativeClient, WaitsForWorkAsLongAsItTakes) {
  std::binary_semaphore done(0);
  ScriptedServer server([&](const auto&) {
    EXPECT_TRUE(done.try_acquire_for(10s));
    return replies(200, "{}");
  });
  auto client = client_of(server.url(), {.connect = 5s, .answer = 20ms, .idle = 20ms});
  client.set_while_waiting([&done, first = true]() mutable {
    if (std::exchange(first, false)) done.release();  // long after the other limits
  });
  EXPECT_TRUE(client.post("/hearth/v1/models/m/verify", {}));
}

struct Broken {
  const char* name;
  std::string bytes;
  const char* told;
};

TEST(NativeClient, SurvivesBrokenAnswers) {
  const Broken cases[] = {
      {"nothing at all", " ", ""},
      {"no HTTP", "hello\r\n\r\n", ""},
      {"head without end", "HTTP/1.1 200 OK\r\nA: " + std::string(100'000, 'a'), ""},
      {"short body", "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{", "ended in the middle"},
      {"bad chunk", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n{", ""},
      {"chunk without end", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{\"a\":", "ended in the middle"},
      {"negative length", "HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\n", ""},
      {"deep JSON", "HTTP/1.1 200 OK\r\n\r\n" + std::string(100'000, '['), "not JSON"},
      {"deep error", "HTTP/1.1 500 Bad\r\n\r\n" + std::string(100'000, '['), "status 500"},
  };
  for (const auto& [name, bytes, told] : cases) {
    ScriptedServer server([&bytes = bytes](const auto&) { return raw(bytes); });
    const auto answer = client_of(server.url()).get("/x");
    ASSERT_FALSE(answer) << name;
    EXPECT_THAT(answer.error().message, HasSubstr(told)) << name;
  }
}

TEST(NativeClient, BoundsWhatItReads) {
  ScriptedServer server([](const auto&) { return replies(200, "\"" + std::string(1'000'000, 'x') + "\""); });
  auto options = options_from(variables({{"HEARTH_URL", server.url()}})).value();
  EXPECT_TRUE(NativeClient(options).get("/x"));
  options.largest_json = 1'000'000;
  const auto error = NativeClient(options).get("/x").error();
  EXPECT_EQ(error.code, base::ErrorCode::too_large);
  EXPECT_THAT(error.message, HasSubstr("more than 1.0 MB"));
}

TEST(NativeClient, UploadsAFileAndTellsHowFarItIs) {
  ScriptedServer server([](const auto&) { return replies(201, R"({"id":"m"})"); });
  const TempFile file(3'000'000);
  std::vector<std::uint64_t> steps;
  const auto answer = client_of(server.url()).put_file("/m", file.path(), [&](auto sent, auto total) {
    EXPECT_EQ(total, 3'000'000u);
    steps.push_back(sent);
  });
  EXPECT_EQ(answer.value().status, 201);
  EXPECT_THAT(steps, ElementsAre(1 << 20, 2 << 20, 3'000'000));
  EXPECT_EQ(server.seen().at(0).body.size(), 3'000'000u);
  EXPECT_EQ(server.seen().at(0).headers.at("content-type"), "application/octet-stream");
}

TEST(NativeClient, HearsARefusalBeforeTheUploadIsOver) {
  ScriptedServer server(
      [](const auto&) { return replies(507, R"({"error":{"code":"does_not_fit","message":"the disk is full"}})"); },
      When::after_head);
  const TempFile file(40'000'000);
  const auto answer = client_of(server.url()).put_file("/m", file.path(), {});
  EXPECT_EQ(answer.error().message, "the disk is full");
}

TEST(NativeClient, UploadsOnlyRegularFiles) {
  const auto client = client_of(url_of_nobody());
  EXPECT_EQ(client.put_file("/m", "/nonexistent/x.gguf", {}).error().code, base::ErrorCode::not_found);
  EXPECT_THAT(client.put_file("/m", testing::TempDir(), {}).error().message, HasSubstr("not a regular file"));
}

TEST(NativeClient, ReadsAStreamAsItComes) {
  ScriptedServer server([](const auto&) { return event_stream({"one", "two", "[DONE]"}, "req-1"); });
  std::vector<std::string> data;
  const auto end =
      client_of(server.url()).post_stream("/v1/chat/completions", {{"stream", true}}, [&](const SseEvent& event) {
        data.push_back(event.data);
        return true;
      });
  EXPECT_EQ(end.value().request_id, "req-1");
  EXPECT_THAT(data, ElementsAre("one", "two", "[DONE]"));
  EXPECT_EQ(server.seen().at(0).body, R"({"stream":true})");
}

TEST(NativeClient, LeavesAStreamWhenTold) {
  ScriptedServer server([](const auto&) { return event_stream({"one", "two"}, "../../x"); });
  int events = 0;
  const auto end = client_of(server.url()).post_stream("/x", {}, [&](const auto&) { return ++events < 1; });
  EXPECT_TRUE(end.value().stopped);
  EXPECT_EQ(end.value().request_id, "") << "an id that is none is not kept";
  EXPECT_EQ(events, 1);
}

TEST(NativeClient, TellsAStreamFromAnAnswerAndFromItsEnd) {
  const auto ignore = [](const SseEvent&) { return true; };
  ScriptedServer refusing(
      [](const auto&) { return replies(503, R"({"error":{"message":"loading","type":"x","code":503}})"); });
  EXPECT_EQ(client_of(refusing.url()).post_stream("/x", {}, ignore).error().code, base::ErrorCode::loading);
  ScriptedServer whole([](const auto&) { return replies(200, "{}"); });
  EXPECT_THAT(client_of(whole.url()).post_stream("/x", {}, ignore).error().message,
              HasSubstr("did not answer with a stream"));
  ScriptedServer cut([](const auto&) {
    return raw(
        "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n5\r\ndata:\r\n");
  });
  EXPECT_THAT(client_of(cut.url()).post_stream("/x", {}, ignore).error().message, HasSubstr("ended in the middle"));
  ScriptedServer endless([](const auto&) { return event_stream({std::string(kLargestEvent + 1, 'x')}); });
  EXPECT_EQ(client_of(endless.url()).post_stream("/x", {}, ignore).error().code, base::ErrorCode::too_large);
}

}  // namespace
}  // namespace hearth::client
